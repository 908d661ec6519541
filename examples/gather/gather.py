"""Rows of a matrix by their numbers, and back: the operators of gather.cpp as functions and as a module."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("gather.cpp"))


def gather_rows(x: Tensor, idx: Tensor) -> Tensor:
    """The rows `idx` of `x`: y[n] = x[idx[n]], shape (N, C).

    Args:
        x: shape (M, C); float32, float64, float16 or bfloat16.
        idx: shape (N,), each from 0 to M - 1; int64 or int32.

    Raises:
        opwright.ArgumentError: the two don't fit together, or an index is out of range.
    """
    y: Tensor = ops.gather_rows(x, idx)
    return y


def add_rows_(y: Tensor, idx: Tensor, x: Tensor) -> Tensor:
    """Adds each row of `x` to a row of `y`, in place: y[idx[n]] += x[n]; returns `y`.

    A row that is named several times gets each of them, in order: the sum doesn't depend on the number of threads.

    Args:
        y: shape (M, C); float32, float64, float16 or bfloat16. It may not share memory with `idx` or `x`.
        idx: shape (N,), each from 0 to M - 1; int64 or int32.
        x: shape (N, C), the element type of `y`.

    Raises:
        opwright.ArgumentError: the three don't fit together, or an index is out of range. `y` is as it was.
    """
    ops.add_rows(y, idx, x)
    return y


class Embedding(nn.Module):
    """A learned vector for each of `count` numbers, in the place of `torch.nn.Embedding`."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, size))

    def forward(self, idx: Tensor) -> Tensor:
        """The vectors of `idx`, whatever its shape: shape (*idx.shape, size)."""
        return gather_rows(self.weight, idx.flatten()).reshape(*idx.shape, self.weight.shape[1])
