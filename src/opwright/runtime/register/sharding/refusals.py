"""Calls with DTensors that are refused, in words: what DTensor can't do, or would do wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import torch

from opwright.errors import UnsupportedError
from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature import Signature
from opwright.signature.derivatives import without_hash

_LOCAL = "call it with the part of each rank, .to_local(), or with the whole, .full_tensor()"


def refuse(signature: Signature, op: OpOverload) -> None:
    """Raise UnsupportedError for an operator that no placements of its arguments make right."""
    name = signature.name
    if signature.generator:
        raise UnsupportedError(
            f"{name}(): it draws random numbers, and each rank would draw its own for its part\n"
            "  likely fix: draw them by a function of PyTorch's that knows DTensors, and pass them as an argument"
        )
    if signature.listed and isinstance(schema_of(op).returns[0].type, torch.ListType):
        raise UnsupportedError(
            f"{name}(): it returns its results in a list, and DTensor has one placement for a list\n"
            f"  signature:  {signature.as_written}\n"
            f"  likely fix: parentheses instead of square brackets around the results, or {_LOCAL}"
        )
    first = next(iter(signature.outputs), None)
    if first is not None and first.condition:
        raise UnsupportedError(
            f"{name}(): its first result, {first.name}, may be absent, and DTensor then makes no DTensor of any\n"
            f"  signature:  {signature.as_written}\n"
            f"  likely fix: begin with a result that is always there, or {_LOCAL}"
        )


def explained(error: RuntimeError, signature: Signature, op: OpOverload, args: Iterable[Any]) -> str | None:
    """Return the words for an error of DTensor's about what an operator is; None if it is another one."""
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not any(isinstance(each, module.DTensor) for each in _flat(args)):
        return None
    first = str(error).partition("\n")[0]
    if signature.lists and "sharding strategy" in first:
        what = "lists of tensors have no sharding strategy"
    elif (signature.data_axes or signature.counts) and first.endswith(without_hash(str(op))):
        decided = [f"?{axis}" for axis in signature.data_axes] or [each.name for each in signature.counts]
        what = f"its kernel decides {decided[0]}, and DTensor has to know the results' shapes before it runs"
    else:
        return None
    return f"{signature.shown_name}(): {what}\n  signature:    {signature.as_written}\n  likely fix:   {_LOCAL}"


def _flat(args: Iterable[Any]) -> Iterable[torch.Tensor]:
    for each in args:
        if isinstance(each, list | tuple):
            yield from _flat(each)
        elif isinstance(each, torch.Tensor):
            yield each
