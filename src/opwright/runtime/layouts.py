"""In which order a pointwise operator's elements lie and are gone through: as PyTorch's own operators do it.

Source of the rules: ATen's TensorIterator (``compute_fast_setup_type``, ``reorder_dimensions``,
``coalesce_dimensions``), which PyTorch describes as "memory format is preserved". Sizes and strides may be
``torch.SymInt``: what can't be known of an unbacked one counts as false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opwright.signature.record import record

_CHANNELS_LAST = (1, 3, 2, 0)  # from the fastest axis to the slowest


@record
class Layout:
    """Sizes, and strides in elements, of one tensor."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def expanded(self, shape: Sequence[int]) -> Layout:
        """As ``torch.Tensor.expand`` makes it: stride 0 along every axis that is repeated."""
        missing = len(shape) - len(self.sizes)
        own = zip(self.sizes, self.strides, shape[missing:], strict=True)
        strides = (0 if is_true(n == 1) and not is_true(size == 1) else stride for n, stride, size in own)
        return Layout(tuple(shape), (0,) * missing + tuple(strides))


def is_true(condition: Any) -> bool:
    """Whether a comparison of sizes is true; False where only a later call can tell."""
    if isinstance(condition, bool):
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # sympy: half a second

    return bool(guard_or_false(condition))


def is_contiguous(tensor: Layout) -> bool:
    """Whether it is row-major, without gaps."""
    if any(is_true(size == 0) for size in tensor.sizes):
        return True
    return _lies(tensor, range(len(tensor.sizes))[::-1])


def result_strides(shape: Sequence[int], tensors: Sequence[Layout]) -> tuple[int, ...]:
    """The strides of what a pointwise operator returns.

    Args:
        shape: what its arguments broadcast to.
        tensors: those arguments, as they were given.
    """
    if all(_is_same(tensor.sizes, shape) for tensor in tensors):
        if all(is_contiguous(tensor) for tensor in tensors):
            return _packed(shape, range(len(shape))[::-1])
        if all(_is_channels_last(tensor) for tensor in tensors):
            return _packed(shape, _CHANNELS_LAST)
        first = tensors[0].strides
        if all(_is_dense(tensor) and _is_same(tensor.strides, first) for tensor in tensors):
            return first
    order = fastest_first(shape, [tensor.expanded(shape) for tensor in tensors])
    in_order = order == list(range(len(shape)))[::-1]
    return _packed(shape, order, least=1 if in_order else 0)


def fastest_first(shape: Sequence[int], tensors: Sequence[Layout]) -> list[int]:
    """The axes of tensors that all have `shape`, from the one with the least strides on.

    An insertion sort that lets each comparison be undecided; then the order is the one of a row-major tensor.
    """
    order = list(range(len(shape)))[::-1]
    for start in range(1, len(order)):
        at = start
        for before in range(start)[::-1]:
            comparison = _compare(order[before], order[at], shape, tensors)
            if comparison > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif comparison < 0:
                break
    return order


def loops(shape: Sequence[int], tensors: Sequence[Layout]) -> list[Layout]:
    """The fewest axes that go through the same elements, in the same order for all; the last one is the fastest.

    Args:
        shape: the shape of each of the tensors.
        tensors: those that are read, then those that are written.
    """
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in tensors]
    for axis in fastest_first(shape, tensors):
        here = [tensor.strides[axis] for tensor in tensors]
        if shape[axis] == 1:
            continue
        if sizes and all(step == each[-1] * sizes[-1] for step, each in zip(here, strides, strict=True)):
            sizes[-1] *= shape[axis]
            continue
        sizes.append(shape[axis])
        for each, step in zip(strides, here, strict=True):
            each.append(step)
    return [Layout(tuple(sizes[::-1]), tuple(each[::-1])) for each in strides]


def _compare(first: int, second: int, shape: Sequence[int], tensors: Sequence[Layout]) -> int:
    """1: the second axis is faster than the first; -1: it is not; 0: no tensor tells."""
    for tensor in tensors:
        a, b = tensor.strides[first], tensor.strides[second]
        if is_true(a == 0) or is_true(b == 0):
            continue
        if is_true(a < b):
            return -1
        if is_true(a > b) or is_true(shape[first] > shape[second]):
            return 1
    return 0


def _packed(shape: Sequence[int], order: Sequence[int], least: int = 1) -> tuple[int, ...]:
    """Strides without gaps; `order`: axes, the fastest first; `least`: what an axis of size 0 counts as."""
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step *= least if is_true(shape[axis] == 0) else shape[axis]
    return tuple(strides)


def _is_same(first: Sequence[int], second: Sequence[int]) -> bool:
    return len(first) == len(second) and all(is_true(a == b) for a, b in zip(first, second, strict=True))


def _is_channels_last(tensor: Layout) -> bool:
    return len(tensor.sizes) == len(_CHANNELS_LAST) and _lies(tensor, _CHANNELS_LAST)


def _lies(tensor: Layout, order: Sequence[int]) -> bool:
    """Whether it has no gaps, its axes being in that order, the fastest first."""
    step = 1
    for axis in order:
        if is_true(tensor.sizes[axis] == 1):
            continue
        if not is_true(tensor.strides[axis] == step):
            return False
        step *= tensor.sizes[axis]
    return True


def _is_dense(tensor: Layout) -> bool:
    """Whether it has no gaps, in whatever order its axes are."""
    return len(list(_chain(tensor))) == sum(not is_true(size == 1) for size in tensor.sizes)


def _chain(tensor: Layout) -> Iterator[int]:
    """Axes, the fastest first, as long as each begins where the one before ends."""
    rest = [axis for axis, size in enumerate(tensor.sizes) if not is_true(size == 1)]
    step = 1
    while found := [axis for axis in rest if is_true(tensor.strides[axis] == step)]:
        step *= tensor.sizes[found[0]]
        rest.remove(found[0])
        yield found[0]
