"""LLTM as extensions with PyTorch's headers, for the CPU and for a GPU, loaded just in time."""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from torch import Tensor

import opwright

HERE = Path(__file__).parent


@functools.cache
def built(device: str) -> ModuleType:
    """Return the extension for ``cpu`` or ``cuda``; the first call builds it."""
    files = ["lltm_aten.cpp"] if device == "cpu" else ["lltm_cuda.cpp", "lltm_cuda_kernel.cu"]
    return cast("ModuleType", opwright.load(*(HERE / file for file in files)))


class Lltm(torch.autograd.Function):
    """The extension's forward and backward as an autograd function."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Compute one step, and save the tensors that the backward needs."""
        new_h, new_cell, *saved = built(inputs[0].device.type).forward(*inputs)
        ctx.save_for_backward(*saved, inputs[1])
        return new_h, new_cell

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_h: Tensor, grad_cell: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of the inputs, in the order of the inputs."""
        return tuple(built(grad_h.device.type).backward(grad_h, grad_cell, *ctx.saved_tensors))


def lltm_extension(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Compute `lltm_python` with the extension; differentiable once."""
    new_h, new_cell = Lltm.apply(x, weights, bias, old_h, old_cell)
    return new_h, new_cell
