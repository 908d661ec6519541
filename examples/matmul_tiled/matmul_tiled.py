"""The product of two matrices, by the CUDA kernel of matmul_tiled.cu: as a function and in a layer.

CUDA tensors go to the GPU; those of the CPU to the same kernels, emulated.
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
    """The product of `a` and `b`; sums are taken in float32 for halves.

    Args:
        a: two axes; float32, float64, float16 or bfloat16.
        b: two axes, the first as long as the second of `a`; the same element type.

    Raises:
        opwright.ArgumentError: the arguments have other element types or axes, or don't fit together.
    """
    c: Tensor = (ops if a.is_cuda else emulated).matmul(a, b)
    return c


class Linear(nn.Module):
    """x W + b, in the place of `torch.nn.Linear`, with the transpose of its weight.

    Args:
        inputs: the length of the input's last axis.
        outputs: that of the output's.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """The result for `x`, which may have any leading axes."""
        y = matmul(x.reshape(-1, self.weight.size(0)), self.weight)
        return y.reshape(*x.shape[:-1], self.weight.size(1)) + self.bias
