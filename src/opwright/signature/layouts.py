"""Memory layouts for the tensors of random calls: row-major, at an offset, permuted, sliced, expanded."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

Layout = tuple[tuple[int, ...], int, int]
"""Strides, offset and storage size, all in elements."""

_KINDS = ("contiguous", "offset", "permuted", "sliced", "expanded")


def row_major(shape: Sequence[int]) -> Layout:
    """Return a row-major layout without an offset."""
    return _layout(shape, range(len(shape)), [1] * len(shape), 0)


def draw_layout(shape: Sequence[int], rng: random.Random, *, overlapping: bool) -> Layout:
    """Draw one of: dense, dense at an offset, permuted, every second element of an axis, expanded along an axis.

    Args:
        shape: the sizes.
        rng: the random generator.
        overlapping: whether elements may share memory, as in an expanded tensor.
    """
    kind = rng.choice(_KINDS if overlapping else _KINDS[:-1])
    if not shape or kind in ("contiguous", "offset"):
        return _layout(shape, range(len(shape)), [1] * len(shape), rng.randint(1, 4) if kind == "offset" else 0)
    order, steps = list(range(len(shape))), [1] * len(shape)
    if kind == "permuted":
        rng.shuffle(order)
    else:
        steps[rng.randrange(len(shape))] = 2 if kind == "sliced" else 0
    return _layout(shape, order, steps, rng.choice((0, 0, 3)))


def _layout(shape: Sequence[int], order: Sequence[int], steps: Sequence[int], offset: int) -> Layout:
    """Lay out axes in ``order``, outermost first; an axis takes every ``step``-th element (0: always the same one)."""
    strides, extent = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = extent * steps[axis]
        extent *= max(shape[axis] * steps[axis], 1)
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return tuple(strides), offset, offset + (last + 1 if math.prod(shape) else 0)
