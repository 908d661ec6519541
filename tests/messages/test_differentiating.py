"""The text of the errors of operators without a backward."""

from __future__ import annotations

import pytest
import torch

import opwright
from opwright import (
    UnsupportedError,
)
from tests.messages.raising import failing


def test_no_backward(grads: opwright.Operators) -> None:
    x = torch.ones(3, requires_grad=True)
    y = grads.square(x)
    assert failing(lambda: y.sum().backward(), UnsupportedError) == (
        "square() has no gradient: there is no square_backward\n"
        "  signature:  square(x: T[N]) -> (y: T[N])\n"
        '  likely fix: write OPWRIGHT("square_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])") '
        "and its function beside it\n"
        "              or, where the kernel is a C++ template, write `derived` behind its signature"
    )
    (first,) = torch.autograd.grad(grads.cube(x).sum(), x, create_graph=True)
    assert failing(lambda: first.sum().backward(), UnsupportedError) == (
        "cube_backward() has no second derivative: there is no cube_backward_backward\n"
        "  signature:  cube_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])\n"
        '  likely fix: write OPWRIGHT("cube_backward_backward(grad_grad_x: T[N], grad_y: T[N], x: T[N]) -> '
        '(grad_grad_y: T[N], grad_x: T[N])") and its function beside it'
    )


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own decompositions for jvp
def test_no_forward_mode(grads: opwright.Operators) -> None:
    x = torch.ones(3)
    assert failing(lambda: torch.func.jvp(lambda x: grads.mul(x, x), (x,), (x,)), UnsupportedError) == (
        "mul(): there is no forward-mode derivative (jvp) of this operator; use reverse mode "
        "(torch.autograd.grad, torch.func.vjp)"
    )
