"""y = 1 / (1 + exp(-x)): the operator of sigmoid.cpp as a function and as a module."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("sigmoid.cpp"))


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)), elementwise; the output is saved for the gradient.

    Args:
        x: any shape; float32, float64, float16 or bfloat16.

    Raises:
        opwright.ArgumentError: `x` has another element type.
    """
    y: Tensor = ops.sigmoid(x)
    return y


class Sigmoid(nn.Module):
    """`sigmoid` as a layer, a replacement for `torch.nn.Sigmoid`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `sigmoid`."""
        return sigmoid(x)
