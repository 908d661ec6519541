from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from quantize import Quantize, ops, round_through
from torch import Tensor, nn

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, 1:],
    "expanded": lambda x: x[:1].expand_as(x),
}


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    torch.manual_seed(0)
    return (3 * torch.randn(shape, dtype=dtype)).requires_grad_()


def detached(x: Tensor) -> Tensor:
    """Round with the usual straight-through formula in Python."""
    return x + (torch.round(x) - x).detach()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 5), (70_000,)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(*shape, dtype=dtype)
    y = round_through(x)
    assert torch.equal(y, torch.round(x))
    gradient = torch.randn_like(y)
    assert torch.equal(torch.autograd.grad(y, x, gradient)[0], gradient)


def test_halves_go_to_the_even_number() -> None:
    x = torch.tensor([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 1e300, float("inf"), float("nan")], dtype=torch.float64)
    y, expected = round_through(x), torch.round(x)
    torch.testing.assert_close(y, expected, rtol=0.0, atol=0.0, equal_nan=True)
    assert torch.equal(torch.signbit(y), torch.signbit(expected))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_estimate_is_that_of_the_detached_form(layout: str) -> None:
    """Compare with another form, not by gradcheck: a straight-through gradient deliberately isn't the derivative."""
    x = numbers(3, 4)
    ours, theirs = (
        torch.autograd.grad(form(LAYOUTS[layout](x)).square().sum(), x, create_graph=True)[0]
        for form in (round_through, detached)
    )
    torch.testing.assert_close(ours, theirs)
    seconds = [torch.autograd.grad(first.square().sum(), x)[0] for first in (ours, theirs)]
    torch.testing.assert_close(*seconds)


def test_the_backward_itself_is_differentiable() -> None:
    """The backward is linear in the gradient, so its own derivative can be derived."""

    def backward(gradient: Tensor) -> Tensor:
        x: Tensor = ops.round_backward(gradient, [True])
        return x

    assert torch.autograd.gradcheck(backward, numbers(3))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    x = LAYOUTS[layout](numbers(3, 4).detach()).requires_grad_()
    assert list(torch.library.opcheck(ops.round, (x,)).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(round_through, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2), (16, 9)):
        x = numbers(*shape, dtype=torch.float32)
        torch.testing.assert_close(compiled(x), round_through(x))
        assert torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], torch.ones_like(x))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own
def test_forward_mode_is_refused() -> None:
    """If the backward is handwritten, the forward-mode derivative is unknown: an error, never zeros."""
    with pytest.raises(NotImplementedError):
        torch.func.jvp(round_through, (numbers(3),), (torch.ones(3, dtype=torch.float64),))


def test_layers_before_it_learn() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 1), Quantize(0.25)), torch.randn(64, 4)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(50):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0.5
    assert losses[-1] < 0.05
    torch.testing.assert_close(model(x) * 4, torch.round(model(x) * 4))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"round\(\): x .*complex64"):
        round_through(torch.ones(2, dtype=torch.complex64))
