"""Selecting and adding rows of a matrix by index: the operators of gather.cpp as functions and as a module."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("gather.cpp"))


def gather_rows(x: Tensor, idx: Tensor) -> Tensor:
    """Return the rows `idx` of `x`: y[n] = x[idx[n]], shape (N, C).

    Args:
        x: shape (M, C); float32, float64, float16 or bfloat16.
        idx: shape (N,), each from 0 to M - 1; int64 or int32.

    Raises:
        opwright.ArgumentError: the shapes or types don't match, or an index is out of range.
    """
    y: Tensor = ops.gather_rows(x, idx)
    return y


def add_rows_(y: Tensor, idx: Tensor, x: Tensor) -> Tensor:
    """Add each row of `x` to a row of `y` in place, y[idx[n]] += x[n], and return `y`.

    If an index occurs several times, its rows are added in order, so the sum doesn't depend on the number of threads.

    Args:
        y: shape (M, C); float32, float64, float16 or bfloat16. It must not share memory with `idx` or `x`.
        idx: shape (N,), each from 0 to M - 1; int64 or int32.
        x: shape (N, C), the element type of `y`.

    Raises:
        opwright.ArgumentError: the shapes or types don't match, or an index is out of range. `y` is unchanged.
    """
    ops.add_rows(y, idx, x)
    return y


class Embedding(nn.Module):
    """A learned vector for each of `count` indices, a replacement for `torch.nn.Embedding`."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, size))

    def forward(self, idx: Tensor) -> Tensor:
        """Return the vectors of `idx`, which may have any shape: shape (*idx.shape, size)."""
        return gather_rows(self.weight, idx.flatten()).reshape(*idx.shape, self.weight.shape[1])
