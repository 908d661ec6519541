"""Check of elements that lie far apart: 32-bit indices don't reach them."""

from __future__ import annotations

import contextlib
import mmap
import sys
from collections.abc import Iterator
from dataclasses import replace

import torch

from opwright.check.calls.cases import Case, copy_arguments
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.context import Context, crash_in_fork
from opwright.check.isolation.fork import run_in_fork
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.ulp import worst_difference
from opwright.signature import DType

_INT32_RANGE = 2**31
_NORESERVE = 0x4000
"""Linux's MAP_NORESERVE: untouched pages use no memory, however many there are."""
_CALLS = 4


@register("far elements", group="values", share=0.3)
def far_elements(context: Context) -> Iterator[Finding]:
    """Call with elements that lie more than 2³¹ elements apart: the memory is reserved, but hardly touched."""
    context.require_cpu("memory is reserved, and hardly touched")
    if sys.platform != "linux" or sys.maxsize <= _INT32_RANGE:
        raise Skipped("memory can't be reserved without being there")
    context.require_deterministic()
    types = min(context.type_choices(), key=_bytes)
    tried = 0
    for case in context.examples(_CALLS, types=types, sizes=(3, 2, 5), contiguous=True):
        for name, value in case.arguments().items():
            for axis in range(value.dim()) if isinstance(value, torch.Tensor) and value.numel() else ():
                if value.shape[axis] < 2:
                    continue
                tried += 1
                if finding := _overflow_finding(context, case, name, axis):
                    yield finding
                    return
    context.detail = f"{tried} calls, an argument's rows 2³¹ elements apart"
    if not tried:
        raise Skipped("no argument has an axis")


def _bytes(types: dict[str, DType]) -> int:
    return sum(dtype.itemsize for dtype in types.values())


def _overflow_finding(context: Context, case: Case, name: str, axis: int) -> Finding | None:
    """Find an error that occurs only if the axis's stride is large; small strides are for the check of layouts."""
    count = case.arguments()[name].shape[axis]
    with contextlib.suppress(TimeoutError):
        if near := run_in_fork(lambda: _spread_difference(context, case, name, axis, 0)):
            finding = crash_in_fork(context, case, near, f"where {name} has gaps along axis {axis}: ")
            return finding and replace(finding, reproducer=_spread_reproducer(context, case, name, axis, 0))
        text = run_in_fork(lambda: _spread_difference(context, case, name, axis, _INT32_RANGE // (count - 1) + 1))
        if text.startswith("OSError"):
            raise Skipped(f"no memory can be reserved for it: {text}")
        if text:
            place = f"{name}'s elements along axis {axis} lie more than 2³¹ elements apart"
            likely = "  likely fix: strides and offsets are int64_t"
            far = _spread_reproducer(context, case, name, axis, _INT32_RANGE // (count - 1) + 1)
            return Finding("index-overflow", f"where {place}: {text}\n{likely}", far)
    return None


def _spread_difference(context: Context, case: Case, name: str, axis: int, apart: int) -> str:
    """Compare with contiguous arguments if the rows of one lie `apart` elements apart, or slightly more than needed."""
    arguments = case.arguments()
    expected = context.operator.call_all(copy_arguments(arguments), case.types)
    got = context.operator.call_all({**arguments, name: spread(arguments[name], axis, apart)}, case.types)
    for k, (one, other) in enumerate(zip(got, expected, strict=True)):
        if difference := worst_difference(one, other):
            return f"result {k} differs from what contiguous arguments give: {difference}"
    return ""


def spread(value: torch.Tensor, axis: int, apart: int) -> torch.Tensor:
    """Copy a tensor so that the elements of one index of `axis` are adjacent, and `apart` from those of the next.

    Raises:
        OSError: the memory can't be reserved.
    """
    inner = value.movedim(axis, 0)[0].numel()
    row = max(apart, 2 * inner + 1)
    count = (value.shape[axis] - 1) * row + inner
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    space = mmap.mmap(-1, count * value.element_size(), flags=flags)
    strides = torch.empty(value.movedim(axis, 0).shape[1:]).stride()
    moved = torch.frombuffer(space, dtype=value.dtype, count=count).as_strided(
        value.movedim(axis, 0).shape, (row, *strides)
    )
    moved.copy_(value.movedim(axis, 0))
    return moved.movedim(0, axis)


def _spread_reproducer(context: Context, case: Case, name: str, axis: int, apart: int) -> str:
    text = case_reproducer(context.operator, case)
    before, _, call = text.rpartition("\n")
    far = f"{name} = spread({name}, {axis}, {apart})  # memory is only reserved"
    return f"{before}\nfrom opwright.check.checks.index_overflow import spread\n{far}\n{call}"
