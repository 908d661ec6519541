"""Warp: a kernel in its Python, whose adjoint it derives, in an autograd.Function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import warp as wp

wp.config.quiet = True
wp.init()


@wp.kernel
def silu(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    """Compute the result."""
    i = wp.tid()
    y[i] = 1.25 * x[i] / (1.0 + wp.exp(-x[i]))


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""

    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = wp.from_torch(x.detach().contiguous().view(-1), requires_grad=True)
            y = torch.empty_like(x, memory_format=torch.contiguous_format)
            ctx.y = wp.from_torch(y.view(-1), requires_grad=True)
            wp.launch(silu, dim=ctx.x.size, inputs=[ctx.x], outputs=[ctx.y], device="cpu")
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            ctx.x.grad.zero_()
            wp.launch(
                silu,
                dim=ctx.x.size,
                inputs=[ctx.x],
                outputs=[ctx.y],
                adj_inputs=[ctx.x.grad],
                adj_outputs=[wp.from_torch(grad.contiguous().view(-1))],
                adjoint=True,
                device="cpu",
            )
            return wp.to_torch(ctx.x.grad).view(grad.shape).clone()

    return Silu.apply
