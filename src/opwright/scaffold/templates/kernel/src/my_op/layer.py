"""The operator of csrc/my_op.cpp as a function and as a module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from my_op import ops


def my_op(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each row of `x` by its root mean square, and multiply it by `weight`.

    Args:
        x: any number of axes, at least one; float32, float64, float16 or bfloat16. Rows lie along the last one.
        weight: one number for each place of a row, of the same element type.
        eps: added to the mean of the squares; not negative.

    Returns:
        What has `x`'s shape and element type.

    Raises:
        opwright.ArgumentError: shapes or element types don't fit together.
        opwright.KernelError: `eps` is negative.
    """
    return ops.my_op(x, weight, eps)


class MyOp(nn.Module):
    """`my_op` with a learned weight, in the place of `torch.nn.RMSNorm`."""

    def __init__(self, features: int, eps: float = 1e-6, dtype: torch.dtype | None = None) -> None:
        """Begin with a weight of ones.

        Args:
            features: the length of a row.
            eps: as for `my_op`.
            dtype: of the weight.
        """
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What is shown between the brackets when a model is printed."""
        return f"{self.weight.numel()}, eps={self.eps:g}"
