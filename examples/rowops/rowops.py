"""Softmax and layer norm over the last axis, by the CUDA kernels of rowops.cu: as functions and as modules.

CUDA tensors go to the GPU; those of the CPU to the same kernels, emulated.
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
    """exp(x) over its sum along the last axis.

    Args:
        x: at least one axis; float32, float64, float16 or bfloat16.

    Raises:
        opwright.ArgumentError: `x` has another element type, or no axis.
    """
    y: Tensor = (ops if x.is_cuda else emulated).softmax(x)
    return y


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """`x` less its mean, over its standard deviation, both along the last axis; times `weight`, plus `bias`.

    Args:
        x: at least one axis; float32, float64, float16 or bfloat16.
        weight: of the last axis's length; as `x`.
        bias: as `weight`.
        eps: what is added to the variance, so that it isn't zero.

    Raises:
        opwright.ArgumentError: an argument has another element type, or doesn't fit.
    """
    y: Tensor = (ops if x.is_cuda else emulated).layer_norm(x, weight, bias, eps)
    return y


class Softmax(nn.Module):
    """`softmax` as a layer, in the place of `torch.nn.Softmax(-1)`."""

    def forward(self, x: Tensor) -> Tensor:
        """See `softmax`."""
        return softmax(x)


class LayerNorm(nn.Module):
    """`layer_norm` with parameters, in the place of `torch.nn.LayerNorm(size)`."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """See `layer_norm`."""
        return layer_norm(x, self.weight, self.bias, self.eps)
