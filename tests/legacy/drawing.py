"""Random arguments for TH's functions: shapes, layouts, values and indices, each known by a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

LAYOUTS = ("contiguous", "permuted", "gaps")
_MOST = 100
"""Elements at most, so that even bytes can be all different."""


class Out(NamedTuple):
    """A result, of the element type that is tested unless it has one of its own."""

    dtype: torch.dtype | None = None


class InOut(NamedTuple):
    """An argument that is changed."""

    value: Tensor


class Sizes(NamedTuple):
    """A THLongStorage."""

    sizes: tuple[int, ...]


class Array(NamedTuple):
    """A C array of tensors."""

    tensors: list[Tensor]


class Draw:
    """A source of arguments of one element type."""

    def __init__(self, seed: int, dtype: torch.dtype) -> None:
        self.random, self.dtype, self.is_float = random.Random(seed), dtype, dtype.is_floating_point
        self.generator = torch.Generator().manual_seed(seed)

    def shape(self, low: int = 0, high: int = 5, *, empty: bool = True) -> tuple[int, ...]:
        """Of `low` to `high` dimensions; (0,) stands for a tensor without any."""
        rank = self.random.randint(low, high)
        sizes = [self.random.choice((1, 2, 3, 4, 5)) for _ in range(rank)]
        while math.prod(sizes) > _MOST:
            sizes[self.random.randrange(rank)] = 1
        if empty and rank > (low > 0) and self.random.random() < 0.07:
            sizes[self.random.randrange(rank)] = 0
        return tuple(sizes) or (0,)

    def values(self, shape: Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
        """Small numbers, with repetitions among the integers."""
        dtype = dtype or self.dtype
        if dtype.is_floating_point:
            return torch.randn(tuple(shape), dtype=dtype, generator=self.generator) * 2
        low = 0 if dtype == torch.uint8 else -6
        return torch.randint(low, 7, tuple(shape), dtype=dtype, generator=self.generator)

    def distinct(self, shape: Sequence[int]) -> Tensor:
        """No value twice."""
        count = math.prod(shape)
        values = torch.randperm(count, generator=self.generator).reshape(tuple(shape))
        return self.laid_out(values.to(self.dtype))

    def laid_out(self, value: Tensor, layout: str | None = None) -> Tensor:
        """The same values elsewhere in memory."""
        layout = layout or self.random.choice(LAYOUTS)
        if layout == "permuted":
            order = list(range(value.dim()))
            self.random.shuffle(order)
            return (
                value.permute(order)
                .clone(memory_format=torch.contiguous_format)
                .permute([order.index(d) for d in range(len(order))])
            )
        if layout == "gaps" and value.numel():
            room = self.values([2 * size + 1 for size in value.shape], value.dtype)
            return room[tuple(slice(1, 1 + 2 * size, 2) for size in value.shape)].copy_(value)
        return value.clone(memory_format=torch.contiguous_format)

    def tensor(self, shape: Sequence[int] | None = None, dtype: torch.dtype | None = None) -> Tensor:
        """Values of any layout."""
        return self.laid_out(self.values(self.shape() if shape is None else shape, dtype))

    def like(self, value: Tensor, map_: Callable[[Tensor], Tensor] = lambda x: x) -> Tensor:
        """As many elements: of this shape, or now and then in one row."""
        shape = (value.numel(),) if self.random.random() < 0.3 else value.shape
        return self.laid_out(map_(self.values(shape)))

    def nonzero(self, shape: Sequence[int]) -> Tensor:
        return self.laid_out(not_zero(self.values(shape)))

    def value(self) -> Any:
        """A number."""
        if self.is_float:
            return self.random.choice((-1.5, -1.0, 0.0, 0.5, 2.0, 3.25))
        return self.random.choice((0, 1, 2, 3, 5) if self.dtype == torch.uint8 else (-3, -1, 0, 1, 2, 5))

    def divisor(self) -> Any:
        return self.value() or 1

    def dim(self, value: Tensor) -> int:
        return self.random.randrange(value.dim())

    def flag(self) -> int:
        return self.random.randrange(2)

    def index(self, size: int, shape: Sequence[int]) -> Tensor:
        """Places in a dimension of this size."""
        return self.laid_out(torch.randint(0, max(size, 1), tuple(shape), generator=self.generator))

    def mask(self, shape: Sequence[int]) -> Tensor:
        return self.laid_out(torch.randint(0, 2, tuple(shape), dtype=torch.uint8, generator=self.generator))


def not_zero(value: Tensor) -> Tensor:
    """Zeros made ones."""
    return torch.where(value == 0, torch.ones_like(value), value)
