"""Binding of a call with PyTorch's types: element types, and broadcasting and checks of symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime import messages, torch_internals
from opwright.runtime.layouts import is_true
from opwright.signature import Binding, Check, DType, Signature, TensorInfo, TensorParam, bind
from opwright.signature.binding import Report

DTYPES = {getattr(torch, dtype.torch_name): dtype for dtype in DType}
TORCH_TYPES = {dtype: torch_type for torch_type, dtype in DTYPES.items()}


def bind_call(
    signature: Signature,
    tensors: Mapping[str, TensorInfo | None],
    *,
    axes: Mapping[str, int] | None = None,
    ellipsis: Sequence[int] | None = None,
    types: Mapping[str, DType] | None = None,
    scalars: Mapping[str, Any] | None = None,
    check: Check | None = None,
) -> Binding:
    """Call :func:`opwright.signature.bind`; with `check`, first broadcast symbolic leading axes as PyTorch does."""
    if ellipsis is None and check is not None and signature.broadcasts:
        ellipsis = _broadcast(signature, tensors, check)
    return bind(
        signature,
        tensors,
        axes=axes,
        ellipsis=ellipsis,
        types=types,
        scalars=scalars,
        check=check,
        default=DTYPES[torch.get_default_dtype()],
    )


def leading(tensor: TensorParam, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of the axes before the tensor's core axes; for a pointwise operator these are all sizes."""
    return tuple(shape[: len(shape) - len(tensor.dims)])


def _broadcast(signature: Signature, tensors: Mapping[str, TensorInfo | None], check: Check) -> tuple[int, ...] | None:
    """Return the broadcast sizes of the leading axes.

    None if no size is symbolic or a tensor has too few axes: then `bind` computes the sizes, or raises, itself.
    """
    present = [(param, info) for param in signature.tensors if (info := tensors.get(param.name)) is not None]
    ranks_fit = all(len(info.shape) >= len(param.dims) for param, info in present)
    symbolic = any(type(size) is not int for _, info in present for size in info.shape)
    if not (ranks_fit and symbolic):
        return None
    report = Report(signature)
    for param, info in present:
        lead = leading(param, info.shape)
        known = lead if report.ellipsis is None else report.ellipsis
        rank = max(len(known), len(lead))
        pairs = zip((1,) * (rank - len(known)) + known, (1,) * (rank - len(lead)) + lead, strict=True)

        def text(param: TensorParam = param, info: TensorInfo = info) -> str:
            return report.text(report.unbroadcast(param, info.shape))

        report.ellipsis = tuple(_size(a, b, check, text) for a, b in pairs)
        report.origins["..."] = ", ".join(filter(None, [report.origins.get("..."), param.name]))
    return report.ellipsis


def _size(first: int, second: int, check: Check, text: Any) -> int:
    """Return the size that two axes broadcast to; an unbacked size that isn't known to be 1 counts as not 1."""
    if is_true(first == 1):
        return second
    if not is_true(second == 1):
        check(first == second, text)
    return first


def tensor_info(signature: Signature, name: str, tensor: torch.Tensor, shape: tuple[int, ...]) -> TensorInfo:
    """Return the facts that binding needs of the argument `name`; `shape` is used in place of the tensor's own."""
    if tensor.dtype not in DTYPES:
        raise ArgumentError(
            f"{signature.shown_name}(): {name} has element type {tensor.dtype}, which no signature can name"
        )
    return TensorInfo(shape, DTYPES[tensor.dtype])


def check_sizes(condition: Any, message: Callable[[], str]) -> None:
    """Raise ArgumentError if the condition is known to be false; pass a symbolic one to torch._check."""
    if isinstance(condition, bool):
        if not condition:
            raise ArgumentError(message())
        return
    torch_internals.check(condition, message)


def check_asked(signature: Signature, asked: torch.device | str, param: TensorParam, tensor: torch.Tensor) -> None:
    """Raise ArgumentError if the argument that is a device isn't that of a tensor; "cuda" is any of that type."""
    device, there = torch.device(asked), tensor.device
    assert signature.device is not None  # noqa: S101 - it was given
    if device.type != there.type or device.index not in (None, there.index):
        name = signature.device.name
        facts = {"argument": f"{signature.shown_name}(): {name}", "device": device, "name": name, "expected": there}
        raise ArgumentError(messages.OTHER_DEVICE.format(**facts, other=param.name))


def two_devices(
    signature: Signature, name: str, device: torch.device, other: str, expected: torch.device
) -> ArgumentError:
    """Return the error for an argument `name` that isn't on the device of the argument `other`."""
    argument = f"{signature.shown_name}(): {name}"
    return ArgumentError(messages.TWO_DEVICES.format(argument=argument, device=device, other=other, expected=expected))
