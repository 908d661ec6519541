"""Softmax and layer norm over the last axis, by the CUDA kernels of rowops.cu: as functions and as modules.

CUDA tensors run on the GPU; CPU tensors run the same kernels under emulation.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

SOURCE = Path(__file__).with_name("rowops.cu")
ops = opwright.load(SOURCE)
emulated = opwright.load(SOURCE, backend="emulate")


def softmax(x: Tensor) -> Tensor:
    """Return exp(x) divided by its sum along the last axis.

    Args:
        x: at least one axis; float32, float64, float16 or bfloat16.

    Raises:
        opwright.ArgumentError: `x` has another element type, or no axis.
    """
    y: Tensor = (ops if x.is_cuda else emulated).softmax(x)
    return y


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Subtract the mean of `x`, divide by its standard deviation (both along the last axis), apply `weight` and `bias`.

    Args:
        x: at least one axis; float32, float64, float16 or bfloat16.
        weight: the length of the last axis; the element type of `x`.
        bias: as `weight`.
        eps: added to the variance, to avoid a division by zero.

    Raises:
        opwright.ArgumentError: an argument has a wrong element type or shape.
    """
    y: Tensor = (ops if x.is_cuda else emulated).layer_norm(x, weight, bias, eps)
    return y


class Softmax(nn.Module):
    """`softmax` as a layer, a replacement for `torch.nn.Softmax(-1)`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `softmax`."""
        return softmax(x)


class LayerNorm(nn.Module):
    """`layer_norm` with parameters, a replacement for `torch.nn.LayerNorm(size)`."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """See `layer_norm`."""
        return layer_norm(x, self.weight, self.bias, self.eps)
