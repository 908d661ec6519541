"""Dropout: the operator of dropout.cpp as a function and as a module."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("dropout.cpp"))


def dropout(x: Tensor, p: float = 0.5, *, training: bool = True, generator: torch.Generator | None = None) -> Tensor:
    """Zero with probability `p`, else x / (1 - p), for each element by itself.

    An element that is dropped is 0 also where `x` is infinite or NaN.

    Args:
        x: any shape; float32, float64, float16 or bfloat16. Which elements are dropped doesn't depend on the type.
        p: the probability, from 0 to 1.
        training: if False, `x` is returned.
        generator: where the random numbers come from; by default what torch.manual_seed seeds.

    Raises:
        opwright.ArgumentError: `x` has another element type.
        opwright.KernelError: `p` is no probability.
    """
    if not training or p == 0:
        return x
    y: Tensor = ops.dropout(x, p, rng=generator)
    return y


class Dropout(nn.Module):
    """`dropout` as a layer, in the place of `torch.nn.Dropout`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """See `dropout`; in evaluation (`eval()`) `x` itself."""
        return dropout(x, self.p, training=self.training)
