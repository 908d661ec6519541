"""Binding a call as PyTorch sees it: its default element type, and broadcasting where sizes are symbolic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from opwright.runtime.layouts import is_true
from opwright.signature import Binding, Check, DType, Signature, TensorInfo, TensorParam, bind
from opwright.signature.binding import Report

_FLOATING = {getattr(torch, dtype.torch_name): dtype for dtype in DType if dtype.is_floating}


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
    """:func:`opwright.signature.bind`; with `check`, leading axes of symbolic sizes broadcast as PyTorch's own do."""
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
        default=_FLOATING[torch.get_default_dtype()],
    )


def leading(tensor: TensorParam, shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes before the tensor's core axes; of a pointwise operator's, all of them."""
    return tuple(shape[: len(shape) - len(tensor.dims)])


def _broadcast(signature: Signature, tensors: Mapping[str, TensorInfo | None], check: Check) -> tuple[int, ...] | None:
    """What the leading axes broadcast to; None where `bind` finds that out, or what is wrong, by itself."""
    given = [(param, info) for param in signature.tensors if (info := tensors.get(param.name)) is not None]
    ranks_fit = all(len(info.shape) >= len(param.dims) for param, info in given)
    symbolic = any(type(size) is not int for _, info in given for size in info.shape)
    if not (ranks_fit and symbolic):
        return None
    report = Report(signature)
    for param, info in given:
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
    """The size that two axes broadcast to; an unbacked one that isn't known to be 1 counts as another one."""
    if is_true(first == 1):
        return second
    if not is_true(second == 1):
        check(first == second, text)
    return first
