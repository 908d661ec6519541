"""Elements that lie far apart: what counts them in 32 bits doesn't reach them."""

from __future__ import annotations

import contextlib
import mmap
import sys
from collections.abc import Iterator
from dataclasses import replace

import torch

from opwright.check.alone import survived
from opwright.check.compare import difference
from opwright.check.context import Context
from opwright.check.first import killed
from opwright.check.inputs import Arguments, Case, all_copied
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.signature import DType

_FAR = 2**31
_NORESERVE = 0x4000
"""Linux's MAP_NORESERVE: pages that nobody touches cost nothing, however many there are."""
_CALLS = 4


@register("far elements", group="values", share=0.3)
def far_elements(context: Context) -> Iterator[Finding]:
    """Elements of an argument may lie more than 2³¹ elements apart: memory is reserved for that, and hardly touched."""
    subject = context.subject
    context.only_on_the_cpu("memory is reserved, and hardly touched")
    if sys.platform != "linux" or sys.maxsize <= _FAR:
        raise Skipped("memory can't be reserved without being there")
    if subject.signature.generator:
        raise Skipped("it is random")
    types = min(context.type_choices(), key=_bytes)
    tried = 0
    for case in context.examples(_CALLS, types=types, sizes=(3, 2, 5), contiguous=True):
        for name, value in case.arguments().items():
            for axis in range(value.dim()) if isinstance(value, torch.Tensor) and value.numel() else ():
                if value.shape[axis] < 2:
                    continue
                tried += 1
                if finding := _judged(context, case, name, axis):
                    yield finding
                    return
    context.detail = f"{tried} calls, an argument's rows 2³¹ elements apart"
    if not tried:
        raise Skipped("no argument has an axis")


def _bytes(types: dict[str, DType]) -> int:
    return sum(dtype.itemsize for dtype in types.values())


def _judged(context: Context, case: Case, name: str, axis: int) -> Finding | None:
    """What is wrong only where the axis's stride is large: what is wrong with small ones, the layouts' check tells."""
    count = case.arguments()[name].shape[axis]
    with contextlib.suppress(TimeoutError):
        if near := survived(lambda: _difference(context, case, name, axis, 0)):
            found = killed(context, case, near, f"where {name} has gaps along axis {axis}: ")
            return found and replace(found, reproducer=_shown(context, case, name, axis, 0))
        text = survived(lambda: _difference(context, case, name, axis, _FAR // (count - 1) + 1))
        if text.startswith("OSError"):
            raise Skipped(f"no memory can be reserved for it: {text}")
        if text:
            where = f"{name}'s elements along axis {axis} lie more than 2³¹ elements apart"
            likely = "  likely fix: strides and offsets are int64_t"
            far = _shown(context, case, name, axis, _FAR // (count - 1) + 1)
            return Finding("index-overflow", f"where {where}: {text}\n{likely}", far)
    return None


def _difference(context: Context, case: Case, name: str, axis: int, apart: int) -> str:
    """What differs from contiguous arguments where one's rows are `apart`, or a little more than they need."""
    arguments = case.arguments()
    expected = _called(context, case, all_copied(arguments))
    got = _called(context, case, {**arguments, name: spread(arguments[name], axis, apart)})
    for k, (one, other) in enumerate(zip(got, expected, strict=True)):
        if found := difference(one, other):
            return f"result {k} differs from what contiguous arguments give: {found}"
    return ""


def _called(context: Context, case: Case, arguments: Arguments) -> list[torch.Tensor]:
    made = context.subject.call(arguments, case.sample.binding.types)
    mutated = context.subject.signature.mutated
    return [*made, *(arguments[t.name] for t in mutated if arguments[t.name] is not None)]


def spread(value: torch.Tensor, axis: int, apart: int) -> torch.Tensor:
    """The same numbers, what belongs to an index of `axis` together, and as far as said from what belongs to the next.

    Raises:
        OSError: so much memory can't be reserved.
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


def _shown(context: Context, case: Case, name: str, axis: int, apart: int) -> str:
    text = reproducer(context.subject, case.arguments(), types=case.sample.binding.types)
    before, _, call = text.rpartition("\n")
    far = f"{name} = spread({name}, {axis}, {apart})  # memory is only reserved"
    return f"{before}\nfrom opwright.check.checks.far import spread\n{far}\n{call}"
