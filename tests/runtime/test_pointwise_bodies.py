"""Bodies of pointwise operators that ask about their types, count, add up, and overwrite what isn't differentiable."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import opwright
from opwright import Operators

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


@pytest.fixture(scope="module")
def bodies() -> Operators:
    return opwright.load(Path(__file__).with_name("kernels") / "bodies.cpp")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_limits_are_those_of_the_type(bodies: Operators, dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 3.0], dtype=dtype, requires_grad=True)
    y = bodies.limited(x)
    torch.testing.assert_close(y, torch.tensor([torch.finfo(dtype).eps, 9.0], dtype=dtype), rtol=1e-6, atol=0)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 2 * x.detach())


@pytest.mark.slow
def test_sizes_are_those_of_the_type(bodies: Operators) -> None:
    for dtype, size in ((torch.float32, 4), (torch.float64, 8), (torch.float16, 4)):  # halves are computed as float
        x = torch.ones(1, dtype=dtype, requires_grad=True)
        y = bodies.sized(x)
        assert y.item() == size
        assert torch.autograd.grad(y, x)[0].item() == size


@pytest.mark.slow
def test_overwritten_integers_are_kept_for_the_gradient(bodies: Operators) -> None:
    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    n, m = torch.tensor([3, 4]), torch.tensor([True, False])
    y = bodies.counted(x, n, m)
    assert (n.tolist(), m.tolist()) == ([4, 4], [False, True])
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 1.0]
    assert gradcheck(lambda x: bodies.counted(x, torch.tensor([3, 4]), m.clone()), x, check_forward_ad=True)


def test_results_begin_at_zero(bodies: Operators) -> None:
    x = torch.randn(300, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(bodies.added_up(x), 3 * x * x)
    assert gradcheck(bodies.added_up, x[:5].detach().requires_grad_())


@pytest.mark.slow
def test_increments(bodies: Operators) -> None:
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(bodies.stepped(x), x * (x + 1))
    assert gradcheck(bodies.stepped, x)
    assert gradgradcheck(bodies.stepped, x)


@pytest.mark.slow
def test_reverse_over_forward_in_place(bodies: Operators) -> None:
    def of(step: torch._ops.OpOverload | None, x: Tensor) -> Tensor:
        def squared(x: Tensor, rate: Tensor) -> Tensor:
            changed = x.clone()
            if step:
                step(changed, rate)
            else:
                changed.mul_((-rate).exp())
            return changed * changed

        found: Tensor = torch.func.grad(lambda a: torch.func.jvp(squared, (a, a), (a, a))[1].sum())(x)
        return found

    x = torch.randn(4, dtype=torch.float64)
    torch.testing.assert_close(of(bodies.decay, x), of(None, x))


def test_what_is_expanded_and_cast_keeps_its_size(bodies: Operators) -> None:
    x = torch.ones(1, dtype=torch.int64).expand(3)
    y = bodies.stepped(x)
    assert y.tolist() == [2.0] * 3
    assert y.dtype == torch.float32
