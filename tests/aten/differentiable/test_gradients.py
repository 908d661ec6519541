"""What reaches a backward, what it may leave out, and second derivatives."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opwright
from opwright import UnsupportedError
from tests.aten.differentiable.functions import (
    DOUBLE,
    MUL,
    SECOND,
    fresh,
    inputs,
    make,
)


@pytest.mark.parametrize(("contiguous", "expected"), [("gradients", True), ("all", True), ("none", False)])
def test_expanded_gradients_are_made_contiguous(contiguous: Any, expected: bool) -> None:
    seen: list[bool] = []

    def backward(grad: torch.Tensor) -> torch.Tensor:
        seen.append(grad.is_contiguous())
        return 2 * grad

    op = make(lambda x: 2 * x, backward, DOUBLE, contiguous=contiguous)
    x = inputs((2, 3))[0]
    op(x).sum().backward()  # its gradient is one number, expanded
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full((2, 3), 2.0, dtype=torch.float64))
    assert seen == [expected]


@pytest.mark.parametrize(("contiguous", "expected"), [("gradients", False), ("all", True), ("none", False)])
def test_arguments_are_made_contiguous_for_functions_that_want_that(contiguous: Any, expected: bool) -> None:
    seen: list[bool] = []

    def forward(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.is_contiguous())
        return 2 * x

    op = make(forward, lambda grad: 2 * grad, DOUBLE, contiguous=contiguous)
    assert torch.equal(op(torch.ones(2, 3).t()), torch.full((3, 2), 2.0))
    assert seen == [expected]


PAIR = "pair(x: T[...]) -> (y: T[...], z: T[...])"


def test_a_gradient_that_nobody_gave_is_zero() -> None:
    backward = "pair_backward(grad_y: T[...], grad_z: T[...]) -> (grad_x: T[...])"
    op = make(lambda x: (2 * x, 3 * x), lambda y, z: 2 * y + 3 * z, [PAIR, backward])
    x = inputs((2,))[0]
    op(x)[1].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]


def test_an_optional_gradient_that_nobody_gave_is_none() -> None:
    seen: list[bool] = []

    def backward(y: torch.Tensor | None, z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        seen.append(y is None)
        return 3 * z * torch.ones_like(x)

    text = "pair_backward(grad_y: T[...]?, grad_z: T[...], x: T[...]) -> (grad_x: T[...])"
    op = make(lambda x: (2 * x, 3 * x), backward, [PAIR, text])
    op(inputs((2,))[0])[1].sum().backward()
    assert seen == [True]


def test_a_backward_may_be_told_what_is_wanted_and_leave_the_rest_out() -> None:
    seen: list[list[bool]] = []

    def backward(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor, mask: list[bool]) -> list[torch.Tensor | None]:
        seen.append(mask)
        return [g * y if mask[0] else None, g * x if mask[1] else None]

    op = make(torch.mul, backward, MUL, output_mask=True)
    x, y = inputs((3,), (3,))
    op(x.detach(), y).sum().backward()
    torch.autograd.grad(op(x, y).sum(), [x])
    assert seen == [[False, True], [True, False]]
    assert torch.autograd.gradcheck(op, (x, y))


def test_gradients_that_nobody_wants_are_dropped_unseen() -> None:
    op = make(torch.mul, lambda g, x, y: (g * y, "nothing that anybody looks at"), MUL)
    x, y = inputs((3,), (3,))
    op(x, y.detach()).sum().backward()
    assert torch.equal(x.grad, y)  # type: ignore[arg-type]


def test_none_is_a_gradient_of_zeros() -> None:
    op = make(torch.mul, lambda g, x, y: (None, g * x), MUL)
    x, y = inputs((2, 3), (2, 3))
    op(x, y).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros_like(x))


def mul_backward_backward(
    gx: torch.Tensor | None, gy: torch.Tensor | None, g: torch.Tensor, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    gx = torch.zeros_like(g) if gx is None else gx
    gy = torch.zeros_like(g) if gy is None else gy
    return gx * y + gy * x, gy * g, gx * g


def test_second_derivatives() -> None:
    op = opwright.differentiable(
        torch.mul,
        lambda g, x, y: (g * y, g * x),
        mul_backward_backward,
        signature=[*MUL, SECOND],
        namespace=fresh(),
    )
    assert torch.autograd.gradgradcheck(op, inputs((3,), (3,)))


def test_a_missing_second_derivative_says_what_to_give() -> None:
    op = make(torch.mul, lambda g, x, y: (g * y, g * x), MUL)
    x, y = inputs((3,), (3,))
    with pytest.raises(UnsupportedError) as caught:
        torch.autograd.grad(op(x, y).sum(), [x], create_graph=True)[0].sum().backward()
    assert str(caught.value) == (
        "mul_backward() has no second derivative: there is no mul_backward_backward\n"
        f"  signature:  {MUL[1]}\n"
        "  likely fix: give differentiable() a function for it, and its signature: "
        "mul_backward_backward(grad_grad_x: T[...], grad_grad_y: T[...], grad_z: T[...], x: T[...], y: T[...]) -> "
        "(grad_grad_z: T[...], grad_x: T[...], grad_y: T[...])"
    )
