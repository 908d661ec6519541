"""Dropout: the operator of dropout.cpp as a function and as a module."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("dropout.cpp"))


def dropout(x: Tensor, p: float = 0.5, *, training: bool = True, generator: torch.Generator | None = None) -> Tensor:
    """Set each element to zero independently with probability `p`, else to x / (1 - p).

    A dropped element is 0 even if `x` is infinite or NaN there.

    Args:
        x: any shape; float32, float64, float16 or bfloat16. The choice of dropped elements doesn't depend on the type.
        p: the probability, from 0 to 1.
        training: if False, `x` is returned.
        generator: the random number generator; by default the one seeded by torch.manual_seed.

    Raises:
        opwright.ArgumentError: `x` has another element type.
        opwright.KernelError: `p` isn't between 0 and 1.
    """
    if not training or p == 0:
        return x
    y: Tensor = ops.dropout(x, p, rng=generator)
    return y


class Dropout(nn.Module):
    """`dropout` as a layer, a replacement for `torch.nn.Dropout`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """See `dropout`; returns `x` itself in evaluation mode (`eval()`)."""
        return dropout(x, self.p, training=self.training)
