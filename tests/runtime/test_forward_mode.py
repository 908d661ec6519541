"""Forward mode of pointwise operators, alone and with reverse mode, against finite differences and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


@pytest.mark.slow
def test_against_finite_differences(pointwise: Operators, leaf: Leaf) -> None:
    cases: list[tuple[Any, ...]] = [
        (leaf(2, 3), leaf(2, 3), leaf(2, 3)),
        (leaf(4, 1, 3), leaf(3), leaf(2, 1)),
        (leaf(2), leaf(), None),
    ]
    for inputs in cases:
        assert gradcheck(pointwise.blend, inputs, check_forward_ad=True)
        assert gradgradcheck(pointwise.blend, inputs, check_fwd_over_rev=True)
    polar = lambda x, y: pointwise.polar(x, y)[:2]  # noqa: E731 - the third is an integer
    assert gradcheck(polar, (leaf(3, 1), leaf(2)), check_forward_ad=True, check_batched_forward_grad=True)
    assert gradgradcheck(polar, (leaf(3, 1), leaf(2)), check_fwd_over_rev=True)


@pytest.mark.slow
@pytest.mark.parametrize("view", [lambda t: t, lambda t: t[1:3]])
def test_overwriting(pointwise: Operators, leaf: Leaf, view: Callable[..., torch.Tensor]) -> None:
    def rotated(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole, other = y * 1, view(y) * 2
        norm = pointwise.rotate(view(whole), other, x)
        pointwise.accumulate(other, x, 3.0)
        return norm, whole, other

    assert gradcheck(rotated, (leaf(1), leaf(4)), check_forward_ad=True)
    assert gradgradcheck(rotated, (leaf(1), leaf(4)), check_fwd_over_rev=True)


@pytest.mark.slow
def test_second_derivatives_of_torch_func(pointwise: Operators, leaf: Leaf) -> None:
    y, x = leaf(3).detach(), leaf(2, 1).detach()

    def ours(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(pointwise.polar(x, y)[1]).sum()

    def theirs(x: torch.Tensor) -> torch.Tensor:
        return torch.atan2(y, x).sin().sum()

    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    transforms: list[Callable[..., Any]] = [
        forward,
        torch.func.hessian,
        lambda f: reverse(forward(f)),
        lambda f: reverse(reverse(f)),
        lambda f: lambda x: torch.func.jvp(torch.func.grad(f), (x,), (x + 1,)),
    ]
    for transform in transforms:
        torch.testing.assert_close(transform(ours)(x), transform(theirs)(x))


@pytest.mark.slow
def test_types_and_absent_tangents(pointwise: Operators) -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        z = forward_ad.unpack_dual(pointwise.blend(torch.tensor([3.0]), x, None))
        assert z.tangent is not None
        torch.testing.assert_close(z.tangent, torch.tensor([3.0, 30.0]))
        with torch.no_grad():
            half = torch.ones(2, dtype=torch.float16)
            pointwise.accumulate(half, x, 2.0)
            found = forward_ad.unpack_dual(half).tangent
            assert found is not None
            torch.testing.assert_close(found, torch.tensor([2.0, 20.0], dtype=torch.float16))
        assert forward_ad.unpack_dual(pointwise.blend(torch.ones(2), torch.ones(2))).tangent is None


def test_without_one_a_tangent_is_an_error(batched: Operators) -> None:
    x, w = torch.ones(3), torch.ones(2, 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        with pytest.raises(UnsupportedError, match=r"affine\(\): there is no forward-mode derivative"):
            batched.affine(dual, w)
