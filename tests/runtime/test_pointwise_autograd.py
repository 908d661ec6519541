"""Gradients of pointwise operators, derived from the function of one element; in-place operators under autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from opwright import ArgumentError, Operators

Leaf = Callable[..., torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


@pytest.mark.slow
def test_first_and_second_derivatives(pointwise: Operators, leaf: Leaf) -> None:
    cases: list[tuple[Any, ...]] = [
        (leaf(2, 3), leaf(2, 3), leaf(2, 3)),
        (leaf(4, 1, 3), leaf(3), leaf(2, 1)),
        (leaf(2), leaf(), None),
    ]
    for inputs in cases:
        assert gradcheck(pointwise.blend, inputs)
        assert gradgradcheck(pointwise.blend, inputs)
    polar = lambda x, y: pointwise.polar(x, y)[:2]  # noqa: E731 - the third is an integer
    assert gradcheck(polar, (leaf(3, 1), leaf(2)))
    assert gradgradcheck(polar, (leaf(3, 1), leaf(2)))
    digit = torch.tensor([0, 1, 2, 3])
    assert gradcheck(lambda x: pointwise.digit(x, digit), (leaf(2, 1),))
    assert gradgradcheck(lambda x: pointwise.digit(x, digit), (leaf(2, 1),))


def test_gradients_have_the_inputs_shapes_and_types(pointwise: Operators, leaf: Leaf) -> None:
    x, y, w = leaf(4, 1, dtype=torch.float32), leaf(3, dtype=torch.bfloat16), leaf(dtype=torch.float64)
    found = torch.autograd.grad(pointwise.blend(x, y, w).sum(), (x, y, w))
    expected = torch.autograd.grad((x * y + 2 * w).sum(), (x, y, w))
    assert [g.dtype for g in found] == [torch.float32, torch.bfloat16, torch.float64]
    torch.testing.assert_close(found, expected)


def test_a_gradient_that_is_wanted_alone(pointwise: Operators, leaf: Leaf) -> None:
    x, y = leaf(3), leaf(3)
    pointwise.blend(x, y.detach()).sum().backward()
    assert y.grad is None
    torch.testing.assert_close(x.grad, y.detach())
    backward = pointwise.__loaded__.registered["blend_backward"]
    keys = {backward.kernel.wanted(key) for key in backward.kernel.paths}
    assert keys, "there is an instance for that choice of results"
    first, second = backward.op(torch.ones(3), torch.ones(3), torch.full((3,), 2.0), None, 2.0, [False, True, False])[
        :2
    ]
    assert first is None
    torch.testing.assert_close(second, torch.ones(3))
    assert 0b010 in {backward.kernel.wanted(key) for key in backward.kernel.paths}


@pytest.mark.slow
@pytest.mark.parametrize("view", [lambda t: t, lambda t: t[1:3], lambda t: t[::2], lambda t: t.flip(0)[:1]])
def test_overwriting_under_autograd(pointwise: Operators, leaf: Leaf, view: Callable[..., torch.Tensor]) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        whole = y * 1
        pointwise.accumulate(view(whole), x, 3.0)
        return whole * whole

    def rotated(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole, other = y * 1, view(y) * 2
        norm = pointwise.rotate(view(whole), other, x)
        return norm, whole, other

    for function in (run, rotated):
        assert gradcheck(function, (leaf(1), leaf(4)))
        assert gradgradcheck(function, (leaf(1), leaf(4)))


def test_what_is_overwritten_counts_versions_and_leaves_are_refused(pointwise: Operators, leaf: Leaf) -> None:
    y, x = leaf(3), leaf(3)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        pointwise.accumulate(y, x)
    z = y * 1
    square = z * z
    before = z._version
    pointwise.accumulate(z, x)
    assert z._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()
    with torch.no_grad():
        pointwise.accumulate(y, torch.ones(()), 0.0)
    half = leaf(3, dtype=torch.float16) * 1
    pointwise.accumulate(half, x)  # computed in float64, rounded back
    (gradient,) = torch.autograd.grad(half.sum(), x)
    assert (half.dtype, gradient.dtype) == (torch.float16, torch.float64)


def test_overlaps_with_a_view_are_refused_under_autograd(pointwise: Operators, leaf: Leaf) -> None:
    w = leaf(4) * 1
    with pytest.raises(ArgumentError, match="y is overwritten, but it shares memory with x"):
        pointwise.accumulate(w[1:], w[:3])
    pointwise.accumulate(w, w)  # each element is read before it is written


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blend", "polar", "digit", "accumulate", "rotate"])
def test_opcheck(pointwise: Operators, leaf: Leaf, name: str) -> None:
    plain = torch.rand(2, 3, dtype=torch.float64)
    arguments = {
        "blend": (leaf(2, 1), leaf(3), leaf()),
        "polar": (leaf(2, 1), leaf(3)),
        "digit": (leaf(2, 1), torch.tensor([1, 2])),
        "accumulate": (plain, leaf(3)),
        "rotate": (plain, plain.clone(), leaf(3)),
    }[name]
    assert set(torch.library.opcheck(getattr(pointwise, name), arguments).values()) == {"SUCCESS"}


@pytest.mark.slow
def test_compiled(pointwise: Operators, leaf: Leaf) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cos(pointwise.blend(x.sin(), y, None, 3.0))

    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend="aot_eager")
    for x, y in [(leaf(4, 1), leaf(3)), (leaf(2, 5), leaf(2, 5))]:
        found, expected = compiled(x, y), f(x, y)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(*(torch.autograd.grad(z.sum(), (x, y)) for z in (found, expected)))
