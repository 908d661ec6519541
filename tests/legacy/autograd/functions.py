"""Functions of PyTorch 1.0 and of today, and how results are compared."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import Function

Tensors = tuple[torch.Tensor, torch.Tensor]


class Product(Function):
    """by * x * y, with everything that Functions of the time did."""

    def __init__(self, by: float = 1.0) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Any, y: Any) -> Any:
        assert not torch.is_grad_enabled()
        self.save_for_backward(x, y)
        self.shape = x.shape
        return x * y * self.by

    def backward(self, grad: Any) -> Any:
        assert not torch.is_grad_enabled()
        x, y = tuple(self.saved_tensors)
        assert x.shape == self.shape
        return grad * y * self.by, grad * x * self.by


class Bare(Function):
    """No ``super().__init__()``; saved_variables; more gradients than inputs; needs_input_grad."""

    def __init__(self, power: int) -> None:
        self.power = power

    def forward(self, x: Any) -> Any:
        self.save_for_backward(x)
        return x**self.power

    def backward(self, grad: Any) -> Any:
        (x,) = self.saved_variables
        self.asked = self.needs_input_grad
        return grad * self.power * x ** (self.power - 1), None, None


class Split(Function):
    """Two results."""

    def forward(self, x: Any) -> Any:
        return x * 2, x * 3

    def backward(self, first: Any, second: Any) -> Any:
        self.seen = first.clone(), second.clone()
        return first * 2 + second * 3


class Plain(Function):
    """No arguments, no state."""

    def forward(self, x: Any) -> Any:
        return x.clone()

    def backward(self, grad: Any) -> Any:
        return grad.clone()


class Modern(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, by: float) -> Any:
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.by, None


def gradients(result: torch.Tensor, inputs: Any) -> list[torch.Tensor]:
    weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view_as(result)
    return list(torch.autograd.grad((result * weights).sum(), inputs))


def same(left: Any, right: Any) -> None:
    torch.testing.assert_close(list(left), list(right))


class Masked(Function):
    """State that every forward makes anew."""

    def __init__(self) -> None:
        self.calls = 0
        self.scale = 1.0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.mask = x > 0
        return x * self.mask * self.scale

    def backward(self, grad: Any) -> Any:
        return grad * self.mask * self.scale
