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


def reference(x: Tensor, alpha: float) -> Tensor:
    """The same in PyTorch's operators."""
    columns = list(x.unbind(1))[:1]
    for column in x.unbind(1)[1:]:
        columns.append(columns[-1] + alpha * (column - columns[-1]))
    return torch.stack(columns, 1) if columns else x.clone()


def numbers(*shape: int) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(shape, requires_grad=True)


def test_everything_that_opwright_checks(opwright_check: Callable[..., Any]) -> None:
    opwright_check(op, reference=reference)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1), (5, 200)])
def test_values_and_gradients(shape: tuple[int, int], alpha: float) -> None:
    x = numbers(*shape)
    exact = x.detach().double().requires_grad_()
    ours, theirs = my_op(x, alpha), reference(exact, alpha)
    torch.testing.assert_close(ours, theirs.float())
    incoming = torch.randn_like(ours)
    (mine,), (right,) = (
        torch.autograd.grad(ours, x, incoming),
        torch.autograd.grad(theirs, exact, incoming.double()),
    )
    torch.testing.assert_close(mine, right.float())


def test_rows_that_lie_apart() -> None:
    for x in (numbers(4, 6).t(), numbers(4, 6)[:, ::2]):
        ours = my_op(x, 0.3)
        torch.testing.assert_close(ours, reference(x, 0.3))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_it_is_the_same() -> None:
    layer = MyOp(0.25)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (4, 7):
        x = numbers(rows, 6)
        ours, theirs = compiled(x), layer(x)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(
            torch.autograd.grad(ours.square().sum(), x), torch.autograd.grad(theirs.square().sum(), x)
        )


def test_the_module_is_copied_with_its_number() -> None:
    layer, x = MyOp(0.1), numbers(2, 5)
    assert not layer.state_dict()
    assert str(layer) == "MyOp(alpha=0.1)"
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match="x has element type float64"):
        my_op(torch.ones(2, 3, dtype=torch.float64), 0.5)
    with pytest.raises(opwright.ArgumentError, match=r"x has shape \(3,\), expected \[B, N\]"):
        my_op(torch.ones(3), 0.5)
    with pytest.raises(ValueError, match="got alpha=2, expected a number from 0 to 1"):
        MyOp(2)
