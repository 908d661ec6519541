"""Is it right? Against PyTorch's own form of it, in every way that PyTorch may use an operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import opwright
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from my_op import MyOp, my_op
from my_op.layer import op


def reference(x: Tensor, weight: Tensor) -> Tensor:
    """The same in PyTorch's operators."""
    return F.glu(F.linear(x, weight))


def arguments(n: int, k: int, m: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x, weight = torch.randn(n, k, dtype=dtype), torch.randn(2 * m, k, dtype=dtype)
    return x.requires_grad_(), weight.requires_grad_()


def test_everything_that_opwright_checks(opwright_check: Callable[..., Any]) -> None:
    opwright_check(op, reference=reference)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("n", "k", "m"), [(3, 4, 5), (1, 1, 1), (0, 4, 5), (16, 64, 33)])
def test_values_and_gradients(n: int, k: int, m: int, dtype: torch.dtype) -> None:
    inputs = arguments(n, k, m, dtype)
    ours, theirs = my_op(*inputs), reference(*inputs)
    torch.testing.assert_close(ours, theirs)
    incoming = torch.randn_like(ours)
    mine, right = (torch.autograd.grad(y, inputs, incoming) for y in (ours, theirs))
    torch.testing.assert_close(mine, right)


def test_gradients_are_those_of_the_values() -> None:
    assert torch.autograd.gradcheck(my_op, arguments(3, 4, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_it_is_the_same() -> None:
    layer = MyOp(6, 3)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (4, 7):
        x = torch.randn(rows, 6, requires_grad=True)
        ours, theirs = compiled(x), layer(x)
        torch.testing.assert_close(ours, theirs)
        wanted = (x, layer.weight)
        torch.testing.assert_close(
            torch.autograd.grad(ours.square().sum(), wanted), torch.autograd.grad(theirs.square().sum(), wanted)
        )


def test_the_module_learns_and_keeps_its_state() -> None:
    torch.manual_seed(0)
    layer, target = MyOp(4, 3), torch.randn(6, 4)
    assert list(layer.state_dict()) == ["weight"]
    before = copy.deepcopy(layer)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(300):
        x = torch.randn(128, 4)
        loss = (layer(x) - reference(x, target)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]
    assert not torch.equal(before.weight, layer.weight)
    before.load_state_dict(layer.state_dict())
    assert torch.equal(before(x), layer(x))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"weight has shape \(4, 5\), expected \[2\*M, K\] = \(\?, 3\)"):
        my_op(torch.ones(2, 3), torch.ones(4, 5))
