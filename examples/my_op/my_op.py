"""z = 3x - y: the operator of my_op.cpp as a function and as a module."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import opwright

ops = opwright.load(Path(__file__).with_name("my_op.cpp"))


def my_op(x: Tensor, y: Tensor) -> Tensor:
    """Return 3x - y, elementwise.

    Args:
        x: any shape; float32, float64, float16 or bfloat16.
        y: the shape and element type of `x`.

    Raises:
        opwright.ArgumentError: the shapes or types don't match.
    """
    z: Tensor = ops.my_op(x, y)
    return z


class MyOp(nn.Module):
    """`my_op` as a layer, without parameters."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """See `my_op`."""
        return my_op(x, y)


def reference(x: Tensor, y: Tensor) -> Tensor:
    """Compute the same in PyTorch; float16 and bfloat16 are computed in float32 and rounded once, as in the kernel."""
    wide = torch.promote_types(x.dtype, torch.float32)
    return (3 * x.to(wide) - y.to(wide)).to(x.dtype)
