"""Calls that don't fit: each has to be refused, by an error that names the argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.signature import Signature, TensorParam, bind
from opwright.signature.binding import TensorInfo
from opwright.signature.dtypes import DType

_CASES = 4
_BY_TORCH = {dtype.torch_name: dtype for dtype in DType}


@dataclass(frozen=True)
class _Mistake:
    what: str
    argument: str
    value: Any


@register("bad calls", group="calls", share=0.5)
def bad_calls(context: Context) -> Iterator[Finding]:
    """Wrong types, devices, element types and shapes are refused by an error that names the argument."""
    if not context.subject.ours:
        raise Skipped("its signature was given from outside: it may take more than that says")
    if not context.subject.signature.tensors:
        raise Skipped("it takes no tensor")
    found: dict[tuple[str, str], Finding] = {}
    tried = 0
    for case in context.examples(_CASES, sizes=(2, 3, 5), contiguous=True):
        arguments = case.arguments()
        for mistake in _mistakes(context.subject.signature, case, arguments):
            tried += 1
            finding = _judged(context, {**arguments, mistake.argument: mistake.value}, mistake)
            if finding:
                found.setdefault((mistake.what, mistake.argument), finding)
    context.detail = f"{tried} calls with one mistake each"
    yield from found.values()


def _judged(context: Context, arguments: Arguments, mistake: _Mistake) -> Finding | None:
    subject = context.subject
    try:
        subject.call(arguments)
    except Exception as error:  # noqa: BLE001 - any: what matters is whether it names the argument
        if re.search(rf"\b{mistake.argument}\b", str(error)):  # `x` isn't named by "expected"
            return None
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Finding(
            "unnamed-argument",
            f"{mistake.argument} {mistake.what}: the error doesn't name it: {type(error).__name__}: {said}",
            reproducer(subject, arguments),
        )
    return Finding(
        "accepts-bad-call",
        f"{mistake.argument} {mistake.what}, and the call is not refused\n  signature: {subject.signature}",
        reproducer(subject, arguments),
    )


def _mistakes(signature: Signature, case: Case, arguments: Arguments) -> Iterator[_Mistake]:
    """Each is a mistake by the signature's own rules: what happens to fit is none."""
    for tensor in signature.tensors:
        value = arguments[tensor.name]
        if value is None:
            continue
        yield from _of_tensor(signature, tensor, value, arguments)
    with_axes = [name for name, value in arguments.items() if isinstance(value, torch.Tensor) and value.dim()]
    for tensor in signature.tensors:  # PyTorch lets numbers of the CPU, which have no axes, stand beside any device
        if arguments[tensor.name] is not None and set(with_axes) - {tensor.name}:
            yield _Mistake("is on another device (meta)", tensor.name, arguments[tensor.name].to("meta"))
    for scalar in signature.scalars:
        wrong: Any = "text" if scalar.kind != "bool" else None
        yield _Mistake(f"is {wrong!r}", scalar.name, wrong)
    del case


def _of_tensor(
    signature: Signature, tensor: TensorParam, value: torch.Tensor, arguments: Arguments
) -> Iterator[_Mistake]:
    yield _Mistake("is a str", tensor.name, "text")
    yield _Mistake("is sparse", tensor.name, torch.zeros(value.shape).to_sparse().to(value.dtype))
    if not tensor.optional:
        yield _Mistake("is None", tensor.name, None)
    changes: dict[str, Callable[[], torch.Tensor]] = {
        "has another element type": lambda: value.to(_other(value.dtype)),
        "has another floating type": lambda: value.to(_other_floating(value.dtype)),
        "has one axis more": lambda: value.unsqueeze(0),
        "has one axis less": lambda: value.select(0, 0),
        "is longer": lambda: torch.cat([value, value], 0),
    }
    for what, change in changes.items():
        if what in {"has one axis less", "is longer"} and value.dim() == 0:
            continue
        if what == "has another floating type" and not value.is_floating_point():
            continue
        wrong = change()
        if not _fits(signature, {**arguments, tensor.name: wrong}):
            yield _Mistake(f"{what} ({_described(wrong)})", tensor.name, wrong)


def _other(dtype: torch.dtype) -> torch.dtype:
    return torch.complex64 if dtype.is_floating_point else torch.float32


def _other_floating(dtype: torch.dtype) -> torch.dtype:
    """Refused where other arguments, or the signature, say which it has to be."""
    return torch.float32 if dtype == torch.float64 else torch.float64


def _fits(signature: Signature, arguments: Arguments) -> bool:
    from opwright.errors import ArgumentError

    infos = {
        tensor.name: TensorInfo(tuple(value.shape), _BY_TORCH[str(value.dtype).removeprefix("torch.")])
        for tensor in signature.tensors
        if (value := arguments[tensor.name]) is not None
    }
    try:
        bind(signature, infos, scalars={s.name: arguments[s.name] for s in signature.scalars if s.kind == "int"})
    except (ArgumentError, ZeroDivisionError):
        return False
    return True


def _described(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
