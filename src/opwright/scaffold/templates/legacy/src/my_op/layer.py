"""The operator of csrc/my_op.cu as a function and as a module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from my_op import ops


def my_op(x: Tensor, slope: Tensor) -> Tensor:
    """`x` where it is positive, elsewhere `x` times its channel's slope.

    Args:
        x: (N, C, H, W), float32 or float64, on a GPU.
        slope: (C,), of the same element type.

    Returns:
        (N, C, H, W).

    Raises:
        opwright.ArgumentError: shapes or element types don't fit together.
    """
    return ops.my_op(x, slope)


class MyOp(nn.Module):
    """`my_op` with learned slopes; its constructor takes what the prototxt said."""

    def __init__(self, channels: int, init: float = 0.25, dtype: torch.dtype | None = None) -> None:
        """Begin with equal slopes.

        Args:
            channels: C.
            init: the slope of each.
            dtype: of the slopes.
        """
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), init, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, self.slope)

    def extra_repr(self) -> str:
        """What is shown between the brackets when a model is printed."""
        return f"{self.slope.numel()}"
