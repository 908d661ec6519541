"""Rounding with a gradient, on the CPU by round.cpp and on CUDA by round.cu: as a function and as a layer."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

SOURCES = [Path(__file__).with_name(name) for name in ("round.cpp", "round.cu")]
ops = opwright.load(*SOURCES)


def straight_round(x: Tensor) -> Tensor:
    """Return 1 where x >= 0.5, else 0; the gradient passes unchanged.

    Args:
        x: any shape; float32, float64, float16 or bfloat16; meant for values in (0, 1).

    Raises:
        opwright.ArgumentError: `x` has another element type.
    """
    y: Tensor = ops.round(x)
    return y


class Round(nn.Module):
    """`straight_round` as a layer: turns probabilities into decisions, and passes gradients to the layers before it."""

    def forward(self, x: Tensor) -> Tensor:
        """See `straight_round`."""
        return straight_round(x)
