"""The operator of csrc/my_op.cpp as a function and as a module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from my_op import ops


def my_op(x: Tensor, beta: Tensor) -> Tensor:
    """Multiply each element of `x` by sigmoid(beta * x).

    Args:
        x: any shape; float32, float64, float16 or bfloat16.
        beta: what broadcasts with `x`.

    Returns:
        What both broadcast to, of the type that PyTorch promotes both to.

    Raises:
        opwright.ArgumentError: shapes or element types don't fit together.
    """
    return ops.my_op(x, beta)


class MyOp(nn.Module):
    """`my_op` with a slope that is learned; it begins as `torch.nn.SiLU`."""

    def __init__(self, dtype: torch.dtype | None = None) -> None:
        """Begin with a slope of one.

        Args:
            dtype: of the slope.
        """
        super().__init__()
        self.beta = nn.Parameter(torch.ones((), dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, self.beta)
