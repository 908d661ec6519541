"""Rounding with a gradient that passes through: the operator of quantize.cpp as a function and in a layer."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("quantize.cpp"))


def round_through(x: Tensor) -> Tensor:
    """Round to the nearest integer, ties to even; the gradient passes unchanged.

    Args:
        x: any shape; float32, float64, float16 or bfloat16. Integers are converted to the default type.

    Raises:
        opwright.ArgumentError: `x` is complex.
    """
    y: Tensor = ops.round(x)
    return y


class Quantize(nn.Module):
    """Rounding to the nearest multiple of `step`, with a gradient that passes through to the layers before."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        """See `round_through`."""
        return round_through(x / self.step) * self.step
