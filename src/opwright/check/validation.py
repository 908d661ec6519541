"""Validation of a request before anything runs: devices, and options that would have no effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.calls.example_calls import with_examples
from opwright.check.calls.given_domains import with_domains
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.targets import find_operators, is_source, resolve_name
from opwright.errors import SourceError

if TYPE_CHECKING:
    from opwright.check.request import Request

SANITIZERS: Mapping[str, str] = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}
"""Names of sanitizers, with the names of their libraries."""
ITSELF = "the operator itself"
"""A reference that stands for one of another process: only so that the operator gets the same calls."""
_FIX = 'likely fix: device="emulated" runs CUDA kernels on the CPU; `opwright doctor` says what is missing'


def find_valid_operators(request: Request) -> list[TargetOperator]:
    """Find the operators of a request; see `Request.find_operators`."""
    sanitizers = request.options.get("sanitize", ())
    sanitizer_checks(sanitizers)
    tensors = tensor_device(request.device)
    itself = isinstance(request.reference, str) and request.reference == ITSELF
    found = [
        replace(operator, device=tensors, reference=operator.function if itself else operator.reference)
        for target in request.targets
        for operator in find_operators(
            target,
            signature=request.signature,
            reference=None if itself else request.reference,
            load_options=load_options(target, request.device),
        )
    ]
    found = with_domains(found, request.domains)
    given, label = request.examples, "examples"
    if isinstance(given, str):
        given, label = resolve_name(given), given
    found = with_examples(found, given, label)
    validate(found, straight_through=request.options.get("straight_through", ()), sanitize=sanitizers)
    return found


def validate(operators: Sequence[TargetOperator], *, straight_through: Sequence[str], sanitize: Sequence[str]) -> None:
    """Raise an error if the options don't fit the operators that were found.

    Raises:
        SourceError: there are only CUDA kernels, and the tensors are the CPU's.
        ValueError: no operator has an input of that name; or sanitizers are requested, and no operator was loaded from
            a source file.
    """
    _refuse_cuda(operators)
    inputs = [(operator.name, param.name) for operator in operators for param in operator.signature.inputs]
    for requested in straight_through:
        owner, _, name = requested.rpartition(".")
        if not any(name == input_name and owner in ("", operator_name) for operator_name, input_name in inputs):
            listed = ", ".join(f"{operator_name}.{input_name}" for operator_name, input_name in inputs) or "none"
            raise ValueError(f"check() got straight_through={requested!r}, expected one of the inputs: {listed}")
    if sanitize and not any(operator.sources for operator in operators):
        names = ", ".join(operator.name for operator in operators)
        raise ValueError(
            f"check() got sanitize={','.join(sanitize)!r} and {names}, which wasn't loaded from a source file: only "
            "such kernels can be built anew\n  likely fix: check the source file"
        )


def only_for_cuda(operator: TargetOperator) -> bool:
    """Return whether the operator would be called with CPU tensors, and has kernels for other devices only."""
    return operator.device == "cpu" and bool(operator.devices) and "cpu" not in operator.devices


def _refuse_cuda(operators: Sequence[TargetOperator]) -> None:
    if operators and all(map(only_for_cuda, operators)):
        names = ", ".join(operator.name for operator in operators)
        raise SourceError(
            f"{names}: the kernels are for CUDA only, and check() was to call them with tensors of the CPU\n"
            '  likely fix: device="emulated" (--device emulated) runs a source file\'s CUDA kernels on the CPU; on a '
            'machine with a GPU, device="cuda" (--device cuda)'
        )


def load_options(op: Any, device: str) -> dict[str, Any] | None:
    """Return the options for loading a source file for a device.

    Raises:
        ValueError: the device is ``"emulated"``, and `op` isn't a source file.
    """
    if device != "emulated":
        return None
    if not is_source(op):
        raise ValueError(
            f"check() got device='emulated' and {op!r}, expected a source file: what is built runs where it was built "
            'for\n  likely fix: load it with backend="emulate" and check that'
        )
    return {"backend": "emulate"}


def tensor_device(device: str) -> str:
    """Return the device of the tensors that the operator is called with.

    Raises:
        ValueError: there is no such device, or it isn't available on this machine.
    """
    if device in ("cpu", "emulated"):
        return "cpu"
    kind = _parsed(device).type
    if kind in ("cpu", "meta"):
        raise ValueError(f"check() got device={device!r}, expected 'cpu', 'emulated', or a GPU, as 'cuda'")
    module = torch.get_device_module(kind)
    if not module.is_available():
        raise ValueError(f"check() got device={device!r}, but PyTorch finds no such device here\n  {_FIX}")
    return device


def _parsed(device: str) -> torch.device:
    try:
        return torch.device(device)
    except (RuntimeError, TypeError):
        expected = "expected 'cpu', 'emulated', or a device of PyTorch's, as 'cuda'"
        raise ValueError(f"check() got device={device!r}, {expected}") from None


def sanitizer_checks(sanitizers: Sequence[str]) -> list[str]:
    """Return the names of the checks that use `sanitizers`.

    Raises:
        ValueError: there is no such sanitizer.
    """
    if unknown := [name for name in sanitizers if name not in SANITIZERS]:
        raise ValueError(f"check() got sanitize={unknown[0]!r}, expected some of {', '.join(map(repr, SANITIZERS))}")
    return sorted({"data races" if name == "thread" else "sanitizers" for name in sanitizers})
