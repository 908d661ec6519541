"""Memory layout of pointwise and batched results, and the order of iteration, as in PyTorch's own operators.

Source of the rules: ATen's TensorIterator (``compute_fast_setup_type``, ``reorder_dimensions``,
``coalesce_dimensions``), which PyTorch describes as "memory format is preserved". Sizes and strides can be
``torch.SymInt``; a condition that can't be decided for an unbacked one counts as false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opwright.record import record

_CHANNELS_LAST = (1, 3, 2, 0)  # from the fastest axis to the slowest


@record
class Layout:
    """The sizes and strides (in elements) of a tensor."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def expanded(self, shape: Sequence[int]) -> Layout:
        """Return the layout that ``torch.Tensor.expand`` produces: stride 0 along every repeated axis."""
        missing = len(shape) - len(self.sizes)
        own = zip(self.sizes, self.strides, shape[missing:], strict=True)
        strides = (0 if is_true(n == 1) and not is_true(size == 1) else stride for n, stride, size in own)
        return Layout(tuple(shape), (0,) * missing + tuple(strides))


def is_true(condition: Any) -> bool:
    """Return whether a comparison of sizes is true; False if only a later call can decide it."""
    if isinstance(condition, bool):
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # sympy: half a second

    return bool(guard_or_false(condition))


def is_contiguous(tensor: Layout) -> bool:
    """Return whether a tensor is row-major, without gaps."""
    if any(is_true(size == 0) for size in tensor.sizes):
        return True
    return _lies(tensor, range(len(tensor.sizes))[::-1])


def result_strides(shape: Sequence[int], tensors: Sequence[Layout]) -> tuple[int, ...]:
    """Return the strides of a pointwise operator's results.

    Args:
        shape: the broadcast shape of its arguments.
        tensors: the arguments, before broadcasting.
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


def batched_strides(shape: Sequence[int], core: int, tensors: Sequence[tuple[Layout, int]]) -> tuple[int, ...] | None:
    """Return the strides of a batched operator's result: the core dense, leading axes in the arguments' order.

    Args:
        shape: the shape of the result.
        core: the number of its core axes.
        tensors: the arguments, before broadcasting, each with the number of its core axes.

    Returns:
        The strides; None for row-major, as whenever all arguments are.
    """
    if all(is_contiguous(tensor) for tensor, _ in tensors):
        return None
    leading = shape[: len(shape) - core]
    layouts = []
    for tensor, own in tensors:
        count = len(tensor.sizes) - own
        layouts.append(Layout(tensor.sizes[:count], tensor.strides[:count]).expanded(leading))
    return _packed(shape, [*range(len(leading), len(shape))[::-1], *fastest_first(leading, layouts)])


def fastest_first(shape: Sequence[int], tensors: Sequence[Layout]) -> list[int]:
    """Return the axes of tensors that all have `shape`, sorted by strides, the smallest first.

    This is an insertion sort in which a comparison can be undecided; undecided axes stay in row-major order.
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
    """Merge axes and return layouts with the fewest axes for one loop nest over all tensors, the fastest axis last.

    Args:
        shape: the common shape of the tensors.
        tensors: the tensors that are read, followed by those that are written.
    """
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in tensors]
    for axis in fastest_first(shape, tensors):
        steps = [tensor.strides[axis] for tensor in tensors]
        if shape[axis] == 1:
            continue
        if sizes and all(step == own[-1] * sizes[-1] for step, own in zip(steps, strides, strict=True)):
            sizes[-1] *= shape[axis]
            continue
        sizes.append(shape[axis])
        for own, step in zip(strides, steps, strict=True):
            own.append(step)
    return [Layout(tuple(sizes[::-1]), tuple(own[::-1])) for own in strides]


def folded(tensor: Layout, spans: Sequence[tuple[int, bool]]) -> Layout | None:
    """Merge a tensor's groups of axes, and leave out the axes that a kernel doesn't see.

    Args:
        tensor: the tensor.
        spans: for each axis of the result the number of axes that it stands for, and whether the kernel sees it.

    Returns:
        The layout; None if a group of axes has no single stride.
    """
    sizes, strides, start = list[int](), list[int](), 0
    for count, is_seen in spans:
        size, step = 1, 1
        for axis in reversed(range(start, start + count)):
            if tensor.sizes[axis] == 1:
                continue
            if size != 1 and tensor.strides[axis] != step * size and 0 not in tensor.sizes:
                return None
            step = tensor.strides[axis] if size == 1 else step
            size *= tensor.sizes[axis]
        start += count
        if is_seen:
            sizes.append(size)
            strides.append(step)
    return Layout(tuple(sizes), tuple(strides))


def _compare(first: int, second: int, shape: Sequence[int], tensors: Sequence[Layout]) -> int:
    """Compare two axes by stride: 1 if the second has the smaller one, -1 if the first has, 0 if undecided.

    The first tensor that can order the two axes determines the result. A tensor with a stride of 0 on either axis is
    skipped; if the strides are equal, the axis with the smaller size counts as the smaller.
    """
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
    """Return strides without gaps, for axes in the given order, the fastest first; sizes count as `least` or more."""
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
    """Return whether a tensor has no gaps and its axes are in `order`, the fastest first."""
    step = 1
    for axis in order:
        if is_true(tensor.sizes[axis] == 1):
            continue
        if not is_true(tensor.strides[axis] == step):
            return False
        step *= tensor.sizes[axis]
    return True


def _is_dense(tensor: Layout) -> bool:
    """Return whether a tensor has no gaps, in any order of its axes."""
    return len(list(_chain(tensor))) == sum(not is_true(size == 1) for size in tensor.sizes)


def _chain(tensor: Layout) -> Iterator[int]:
    """Yield axes, the fastest first, as long as each axis's stride is the number of elements in the axes before it."""
    remaining = [axis for axis, size in enumerate(tensor.sizes) if not is_true(size == 1)]
    step = 1
    while next_axes := [axis for axis in remaining if is_true(tensor.strides[axis] == step)]:
        step *= tensor.sizes[next_axes[0]]
        remaining.remove(next_axes[0])
        yield next_axes[0]
