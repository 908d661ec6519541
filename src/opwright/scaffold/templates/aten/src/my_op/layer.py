"""The extension of csrc/my_op.cpp as an operator, as a function and as a module."""

from __future__ import annotations

import opwright
import torch
from torch import Tensor, nn

from my_op import _C

# What the two functions take and return: autograd, shape checks, fake kernels and torch.compile follow from it.
# After the ";" stands what the forward returns for the backward alone.
SIGNATURES = [
    "my_op(x: T[N, K], weight: T[2*M, K]) -> (y: T[N, M]; value: T[N, M], gate: T[N, M])",
    "my_op_backward(grad_y: T[N, M], x: T[N, K], weight: T[2*M, K],"
    " value: T[N, M], gate: T[N, M]) -> (grad_x: T[N, K], grad_weight: T[2*M, K])",
]
op = opwright.differentiable(_C.forward, _C.backward, signature=SIGNATURES)


def my_op(x: Tensor, weight: Tensor) -> Tensor:
    """A gated linear unit: a * sigmoid(b), where a and b are the halves of x @ weight.T.

    Args:
        x: (N, K); float32, float64, float16 or bfloat16.
        weight: (2 M, K), of the same element type.

    Returns:
        (N, M).

    Raises:
        opwright.ArgumentError: shapes or element types don't fit together.
    """
    y: Tensor = op(x, weight)
    return y


class MyOp(nn.Module):
    """`my_op` with a learned weight, for `torch.nn.Linear` and `torch.nn.GLU`."""

    def __init__(self, in_features: int, out_features: int, dtype: torch.dtype | None = None) -> None:
        """Begin as `torch.nn.Linear` does.

        Args:
            in_features: K.
            out_features: M.
            dtype: of the weight.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2 * out_features, in_features, dtype=dtype))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, self.weight)

    def extra_repr(self) -> str:
        """What is shown between the brackets when a model is printed."""
        return f"in_features={self.weight.shape[1]}, out_features={self.weight.shape[0] // 2}"
