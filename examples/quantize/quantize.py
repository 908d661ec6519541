"""Rounding that gradients pass through: the operator of quantize.cpp as a function, and a layer made of it."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("quantize.cpp"))


def round_through(x: Tensor) -> Tensor:
    """The nearest whole number, halves to the even one; the gradient passes unchanged.

    Args:
        x: any shape; float32, float64, float16 or bfloat16. Whole numbers are taken as the default type.

    Raises:
        opwright.ArgumentError: `x` is complex.
    """
    y: Tensor = ops.round(x)
    return y


class Quantize(nn.Module):
    """The nearest multiple of `step`, in a form that the layers before it still learn through."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        """See `round_through`."""
        return round_through(x / self.step) * self.step
