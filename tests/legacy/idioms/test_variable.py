"""Variables: volatile, and numbers that are indexed."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import copy
import importlib
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import Function, Variable

from opwright.errors import ArgumentError
from tests.legacy.idioms.variables import variable


def test_variable() -> None:
    x = torch.ones(3)
    assert not variable(x).requires_grad
    assert variable(x, requires_grad=True).requires_grad
    assert variable(x, True).requires_grad
    assert variable(data=x, requires_grad=True).requires_grad
    assert not variable(x, requires_grad=True).volatile
    assert variable(x).data_ptr() == x.data_ptr()
    assert variable().numel() == 0
    assert isinstance(x, Variable)
    assert isinstance(variable(x, volatile=True), Variable)
    assert not isinstance(1, Variable)
    assert importlib.import_module("torch.autograd.variable").Variable is Variable


def test_what_is_computed_from_a_volatile_variable() -> None:
    layer = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
    x = torch.randn(5, 4)
    volatile = variable(x, volatile=True)
    result = layer(volatile)
    assert (result.volatile, result.requires_grad, result.grad_fn) == (True, False, None)
    assert layer(variable(x)).requires_grad
    torch.testing.assert_close(result.data, layer(x).detach())
    loss = nn.functional.cross_entropy(result, variable(torch.tensor([0, 1, 0, 1, 0])))
    assert loss.volatile
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda v, w: v + w,
        lambda v, w: w + v,
        lambda v, w: torch.cat([w, v]),
        lambda v, w: torch.max(v * w, 1)[0],
        lambda v, w: w.index_select(0, v[0].long() % 2),
        lambda v, w: w[v.long() % 2],
        lambda v, w: (v @ w.t()).view(-1).clone().sum(),
        lambda v, w: torch.stack(torch.split(v, 1) + torch.split(w, 1)),
        lambda v, w: v.detach() * w,
        lambda v, w: copy.deepcopy(v) * w,
        lambda v, w: v.new(w.size()).fill_(1) * w,
    ],
)
def test_volatile_goes_on_whatever_else_requires_grad(function: Callable[[Any, Any], Any]) -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    result = function(variable(x, volatile=True), w)
    assert (result.volatile, result.requires_grad) == (True, False)
    assert torch.equal(result.data, function(x, w).detach())


def test_data_of_a_volatile_variable_is_an_ordinary_tensor() -> None:
    volatile = variable(torch.ones(2), volatile=True)
    assert type(volatile.data) is torch.Tensor
    weight = torch.ones(2, requires_grad=True)
    assert (variable(volatile.data) * weight).requires_grad
    volatile.data.fill_(3)
    assert volatile.tolist() == [3, 3]


def test_a_tensor_that_is_overwritten_stays_what_it_was() -> None:
    mean = torch.zeros(2)
    mean.mul_(0.9).add_(variable(torch.ones(2), volatile=True))
    assert not mean.volatile
    assert (mean * torch.ones(2, requires_grad=True)).requires_grad


def test_volatile_of_a_tensor_that_is_there() -> None:
    x, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    x.volatile = True
    assert (x * weight).volatile
    x.volatile = False
    assert type(x) is torch.Tensor
    assert (x * weight).requires_grad
    for wrong in (weight, nn.Parameter(torch.ones(1))):
        with pytest.raises(ArgumentError, match="that requires grad"):
            wrong.volatile = True
        wrong.volatile = False


def test_volatile_and_requires_grad() -> None:
    with pytest.raises(ValueError, match="one of the two"):
        variable(torch.ones(1), requires_grad=True, volatile=True)


def test_volatile_into_functions() -> None:
    class Scale(Function):
        def forward(self, x: Any, w: Any) -> Any:
            return x * w, x + w

        def backward(self, *_: Any) -> Any:
            raise AssertionError("nobody asks for it")

    weight = torch.ones(2, requires_grad=True)
    for result in Scale()(variable(torch.ones(2), volatile=True), weight):
        assert (result.volatile, result.requires_grad) == (True, False)


def test_volatile_saved_and_loaded() -> None:
    volatile = variable(torch.arange(3.0), volatile=True)
    file = io.BytesIO()
    torch.save(volatile, file)
    file.seek(0)
    for loaded in (torch.load(file), pickle.loads(pickle.dumps(volatile))):  # noqa: S301
        assert type(loaded) is torch.Tensor
        assert loaded.tolist() == [0, 1, 2]
    assert copy.deepcopy(volatile).volatile


def test_volatile_in_other_hands() -> None:
    volatile = variable(torch.ones(2, 3), volatile=True)
    assert volatile.numpy().sum() == 6
    assert isinstance(volatile, torch.FloatTensor)
    assert volatile.size() == (2, 3)
    assert "1." in repr(volatile)
    assert volatile.data.sum() == 6
    assert torch.is_tensor(volatile)


# x[0] of what has no dimensions


def test_a_number_of_data() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (weight**2).sum()
    value: Any = loss.data[0]
    assert (value, type(value)) == (5.0, float)
    count: Any = (weight > 1).sum().data[0]
    assert (count, type(count)) == (1, int)
    assert loss.data[-1] == 5
    assert f"{value:.2f}" == "5.00"


def test_of_a_variable_a_variable() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    first = (weight**2).sum()[0]
    assert first.shape == ()
    first.backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 4]
    assert variable(torch.ones(()), volatile=True)[0].volatile


def test_a_number_is_assigned_to_data() -> None:
    """x[i] was a Variable with one element, and so its data a tensor of one."""
    x = torch.zeros(3, requires_grad=True)
    x[1].data[0] = 5
    x.data[2][-1] = torch.tensor(7.0)
    x.data[0][0] = torch.tensor([3.0])
    x.data[0][0] += 1
    assert x.tolist() == [4, 5, 7]
    with pytest.raises(RuntimeError):
        x.data[0][0] = torch.ones(2)


@pytest.mark.parametrize("index", [1, -2, (0, 0), 0.0, "x"])
def test_other_indices_are_wrong_as_ever(index: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        torch.ones(())[index] = 1.0
    with pytest.raises(IndexError):
        torch.ones(2)[2] = 1.0
    with pytest.raises((IndexError, TypeError)):
        torch.ones(())[index]
    with pytest.raises(IndexError):
        torch.ones(2)[2]


def test_indexing_is_what_it_was() -> None:
    x = torch.arange(12).view(3, 4)
    assert x[0].tolist() == [0, 1, 2, 3]
    assert type(x[0][0]) is torch.Tensor
    assert x[1:, ::2].tolist() == [[4, 6], [8, 10]]
    assert x[x > 9].tolist() == [10, 11]
    assert torch.ones(())[None].shape == (1,)
    assert torch.ones(())[...].shape == ()
    assert torch.ones(())[False].shape == (0,)
