"""A gated linear unit and how operators are made and called, for all tests of `differentiable`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

import opwright

_NAMES = itertools.count()
_ALL = {"test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"}

GLU = (
    "glu(x: T[N, K], w: T[2*M, K], scale: float = 1.0) -> (y: T[N, M]; value: T[N, M], gate: T[N, M])",
    (
        "glu_backward(grad_y: T[N, M], x: T[N, K], w: T[2*M, K], value: T[N, M], gate: T[N, M], scale: float) -> "
        "(grad_x: T[N, K], grad_w: T[2*M, K])"
    ),
)


def glu_forward(x: torch.Tensor, w: torch.Tensor, scale: float) -> list[torch.Tensor]:
    value, gate = torch.mm(x, w.t()).chunk(2, dim=1)  # views of one tensor: what C++ extensions return, too
    gate = torch.sigmoid(gate)
    return [scale * value * gate, value, gate]


def glu_backward(
    grad: torch.Tensor, x: torch.Tensor, w: torch.Tensor, value: torch.Tensor, gate: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    both = torch.cat([scale * grad * gate, scale * grad * value * gate * (1 - gate)], dim=1)
    return both @ w, both.t() @ x


def glu_reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.glu(x @ w.t(), dim=1)


def fresh() -> str:
    """A namespace that no other test has."""
    return f"differentiable_{next(_NAMES)}"


def make(
    forward: Callable[..., Any], backward: Callable[..., Any], signature: Sequence[str], **options: Any
) -> Callable[..., Any]:
    return opwright.differentiable(forward, backward, signature=signature, namespace=fresh(), **options)


def inputs(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def gradients(function: Callable[..., Any], given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    y = function(*given)
    weights = torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape) + 1
    return torch.autograd.grad((y * weights).sum(), given)


DOUBLE = ("twice(x: T[...]) -> (y: T[...])", "twice_backward(grad_y: T[...]) -> (grad_x: T[...])")


MUL = (
    "mul(x: T[...], y: T[...]) -> (z: T[...])",
    "mul_backward(grad_z: T[...], x: T[...], y: T[...]) -> (grad_x: T[...], grad_y: T[...])",
)


SECOND = (
    "mul_backward_backward(grad_grad_x: T[...]?, grad_grad_y: T[...]?, grad_z: T[...], x: T[...], y: T[...]) -> "
    "(grad_grad_z: T[...], grad_x: T[...], grad_y: T[...])"
)
