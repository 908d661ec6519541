"""The product of two matrices, by the CUDA kernel of matmul_tiled.cu: as a function and in a layer.

CUDA tensors run on the GPU; CPU tensors run the same kernels under emulation.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

SOURCE = Path(__file__).with_name("matmul_tiled.cu")
ops = opwright.load(SOURCE)
emulated = opwright.load(SOURCE, backend="emulate")


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of `a` and `b`; float16 and bfloat16 are summed in float32.

    Args:
        a: two axes; float32, float64, float16 or bfloat16.
        b: two axes, the first as long as the second of `a`; the same element type.

    Raises:
        opwright.ArgumentError: the element types or the number of axes are wrong, or the shapes don't match.
    """
    c: Tensor = (ops if a.is_cuda else emulated).matmul(a, b)
    return c


class Linear(nn.Module):
    """x W + b, a replacement for `torch.nn.Linear` with a transposed weight.

    Args:
        inputs: the length of the input's last axis.
        outputs: the length of the output's last axis.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Return the result for `x`, which may have any leading axes."""
        y = matmul(x.reshape(-1, self.weight.size(0)), self.weight)
        return y.reshape(*x.shape[:-1], self.weight.size(1)) + self.bias
