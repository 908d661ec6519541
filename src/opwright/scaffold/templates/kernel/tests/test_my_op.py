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
from my_op.ops import my_op as op

TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def reference(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """The same in PyTorch's operators."""
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


def arguments(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x, weight = torch.randn(shape, dtype=dtype), torch.randn(shape[-1], dtype=dtype)
    return x.requires_grad_(), weight.requires_grad_()


def test_everything_that_opwright_checks(opwright_check: Callable[..., Any]) -> None:
    opwright_check(op, reference=reference)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5,), (2, 0, 3), (3, 4, 1), (37, 513)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, weight = arguments(*shape, dtype=dtype)
    exact = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    ours, theirs = my_op(x, weight), reference(*exact)
    torch.testing.assert_close(ours, theirs.to(dtype))
    incoming = torch.randn_like(ours)
    mine = torch.autograd.grad(ours, (x, weight), incoming)
    right = torch.autograd.grad(theirs, exact, incoming.double())
    torch.testing.assert_close(list(mine), [t.to(dtype) for t in right])


def test_gradients_are_those_of_the_values() -> None:
    assert torch.autograd.gradcheck(my_op, arguments(3, 4))
    assert torch.autograd.gradcheck(my_op, tuple(t[..., ::2] for t in arguments(2, 3, 8)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_it_is_the_same() -> None:
    layer = MyOp(6)
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
    layer, target = MyOp(5), torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])
    assert list(layer.state_dict()) == ["weight"]
    before = copy.deepcopy(layer)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    torch.manual_seed(0)
    losses = []
    for _ in range(50):
        x = torch.randn(64, 5)
        loss = (layer(x) - reference(x, target)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 1e-3 * losses[0]
    assert torch.equal(before.weight, torch.ones(5))
    before.load_state_dict(layer.state_dict())
    assert torch.equal(before(x), layer(x))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"weight has shape \(4,\), expected \[C\] = \(3,\)"):
        my_op(torch.ones(2, 3), torch.ones(4))
    with pytest.raises(opwright.KernelError, match="eps is -1, expected 0 or more"):
        my_op(torch.ones(2, 3), torch.ones(3), eps=-1)
