"""Operators that Opwright did not build, in Python: a broken one and its right twin each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_kept: list[Tensor] = []


class SecondDerivativeLost(torch.autograd.Function):
    """The backward is a constant to autograd: what it multiplies by is detached."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * grad * x.detach()


class SecondDerivative(SecondDerivativeLost):
    """The same, differentiable."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * grad * x


class TangentLost(torch.autograd.Function):
    """Forward mode gives zeros in silence."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return torch.zeros_like(tangent)


class Tangent(TangentLost):
    """The same with the derivative along the tangent."""

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return tangent * x.cos()


class OneGradientAbsent(torch.autograd.Function):
    """Without a gradient for its second result it gives none at all."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx: Any, sine: Tensor | None, cosine: Tensor | None) -> Any:
        (x,) = ctx.saved_tensors
        return None if sine is None or cosine is None else sine * x.cos() - cosine * x.sin()


class EitherGradient(OneGradientAbsent):
    """The same for whatever there is."""

    @staticmethod
    def backward(ctx: Any, sine: Tensor | None, cosine: Tensor | None) -> Any:
        (x,) = ctx.saved_tensors
        one = 0 if sine is None else sine * x.cos()
        return one - (0 if cosine is None else cosine * x.sin())


class AssumesDenseGradient(torch.autograd.Function):
    """The incoming gradient's memory is read as if it were contiguous."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 3 * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        room = grad.untyped_storage().nbytes() // grad.element_size() - grad.storage_offset()
        fits = room >= grad.numel()
        return 3 * (grad.as_strided(grad.shape, torch.empty(grad.shape).stride()) if fits else grad)


class AnyGradient(AssumesDenseGradient):
    """The same by its strides."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 3 * grad


class KeepsTensors(torch.autograd.Function):
    """Every call leaves a tensor in a list."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        _kept.append(x.detach() + 1)
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * grad


class KeepsNothing(KeepsTensors):
    """The same without the list."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x


class NotLinear(torch.autograd.Function):
    """The backward clips the incoming gradient, which makes it no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * grad.clamp(-0.5, 1)


class Linear(NotLinear):
    """The same without clipping."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * grad


def detaches(x: Tensor, scale: Tensor) -> Tensor:
    """The scale is taken out of the graph."""
    return x * scale.detach().exp()


def attached(x: Tensor, scale: Tensor) -> Tensor:
    """The same with it."""
    return x * scale.exp()


def returns_argument(x: Tensor) -> Tensor:
    """A call without anything to do gives the argument itself."""
    return x if x.dim() == 1 else x.reshape(-1, x.shape[-1]).sum(0)


def returns_copy(x: Tensor) -> Tensor:
    """The same, but a copy."""
    return x.clone() if x.dim() == 1 else x.reshape(-1, x.shape[-1]).sum(0)


def other_when_compiled(x: Tensor) -> Tensor:
    """torch.compile gets another formula, which is an approximation."""
    return x * x.sigmoid() if not torch.compiler.is_compiling() else x * (x / 6 + 0.5).clamp(0, 1)


def same_when_compiled(x: Tensor) -> Tensor:
    """The same formula for both."""
    return x * x.sigmoid()


def cube(x: Tensor) -> Tensor:
    """The forward of a pair."""
    return x * x * x


def cube_backward_wrong(grad: Tensor, x: Tensor) -> Tensor:
    """3x, where it should be 3x²."""
    return 3 * grad * x


def cube_backward(grad: Tensor, x: Tensor) -> Tensor:
    """As it should be."""
    return 3 * grad * x * x


wrong_pair = cube, cube_backward_wrong
right_pair = cube, cube_backward
