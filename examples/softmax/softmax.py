"""Softmax over the last axis: the operator of softmax.cpp as a function and as a module."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("softmax.cpp"))


def softmax(x: Tensor) -> Tensor:
    """Return exp(x) divided by its sum along the last axis.

    Args:
        x: at least one axis; float32, float64, float16 or bfloat16.

    Raises:
        opwright.ArgumentError: `x` has another element type, or no axis.
    """
    y: Tensor = ops.softmax(x)
    return y


class Softmax(nn.Module):
    """`softmax` as a layer, a replacement for `torch.nn.Softmax(-1)`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `softmax`."""
        return softmax(x)
