"""Is it right? Against PyTorch's operators, in every way that PyTorch may use an operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import opwright
import pytest
import torch
from torch import Tensor

from my_op import MyOp, my_op
from my_op.ops import my_op as op


def reference(x: Tensor, beta: Tensor) -> Tensor:
    """The same in PyTorch's operators."""
    return x * torch.sigmoid(beta * x)


def arguments(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x, beta = 3 * torch.randn(shape, dtype=dtype), torch.randn(shape[-1:], dtype=dtype)
    return x.requires_grad_(), beta.requires_grad_()


def test_everything_that_opwright_checks(opwright_check: Callable[..., Any]) -> None:
    opwright_check(op, reference=reference)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (2, 40_001)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    inputs = arguments(*shape, dtype=dtype)
    exact = [t.detach().double().requires_grad_() for t in inputs]
    ours, theirs = my_op(*inputs), reference(*exact)
    torch.testing.assert_close(ours, theirs.to(dtype))
    incoming = torch.randn_like(ours)
    mine, right = torch.autograd.grad(ours, inputs, incoming), torch.autograd.grad(theirs, exact, incoming.double())
    # The gradient of beta is a sum over rows, of numbers below ten that are rounded before they are added.
    few = max(16 * torch.finfo(dtype).eps, 1e-12)
    torch.testing.assert_close(list(mine), [t.to(dtype) for t in right], rtol=few, atol=few)


def test_gradients_are_those_of_the_values() -> None:
    assert torch.autograd.gradcheck(my_op, arguments(3, 4))
    assert torch.autograd.gradgradcheck(my_op, arguments(3, 4))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_it_is_the_same() -> None:
    layer = MyOp()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (4, 7):
        x = torch.randn(rows, 6, requires_grad=True)
        ours, theirs = compiled(x), layer(x)
        torch.testing.assert_close(ours, theirs)
        wanted = (x, layer.beta)
        torch.testing.assert_close(
            torch.autograd.grad(ours.square().sum(), wanted), torch.autograd.grad(theirs.square().sum(), wanted)
        )


def test_the_module_learns_and_keeps_its_state() -> None:
    layer, target = MyOp(), torch.tensor(2.0)
    assert list(layer.state_dict()) == ["beta"]
    before = copy.deepcopy(layer)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    torch.manual_seed(0)
    for _ in range(100):
        x = torch.randn(256)
        loss = (layer(x) - reference(x, target)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert abs(layer.beta.item() - target.item()) < 0.05
    assert before.beta.item() == 1
    before.load_state_dict(layer.state_dict())
    assert torch.equal(before(x), layer(x))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"beta has shape \(4,\), which doesn't broadcast with \(2, 3\)"):
        my_op(torch.ones(2, 3), torch.ones(4))
