"""More than one backward, and more than one call of one instance."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from tests.legacy.autograd.functions import Bare, Masked, Product, Tensors, same


def test_what_was_saved_is_freed_after_backward(pair: Tensors) -> None:
    function = Product()
    result = function(*pair)
    result.sum().backward(retain_graph=True)
    same(function.saved_tensors, pair)
    result.sum().backward()
    same([pair[0].grad], [2 * pair[1]])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        result.sum().backward()
    with pytest.raises(RuntimeError, match="have already been freed"):
        _ = function.saved_tensors


def test_not_differentiable_twice(pair: Tensors) -> None:
    x, y = pair
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad((Product()(x, y) * weight).sum(), pair, create_graph=True)
    same(first, [y, x])
    with pytest.raises(RuntimeError, match="Product is not differentiable twice"):
        first[0].sum().backward()


def test_a_part_of_a_second_derivative_is_never_missing_in_silence(pair: Tensors) -> None:
    x = pair[0]
    (first,) = torch.autograd.grad((Bare(3)(x) + x**2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="Bare is not differentiable twice"):
        torch.autograd.grad(first.sum(), x)


def test_one_instance_called_again_before_backward(pair: Tensors) -> None:
    function, (x, y) = Masked(), pair
    first, second, third = function(x), function(y), function(x - y)
    expected = [(x > 0).double() + (x > y), (y > 0).double() - (x > y).double()]
    total = (first + second + third).sum()
    same(torch.autograd.grad(total, pair, retain_graph=True), expected)
    same(torch.autograd.grad(total, pair), expected)


def test_an_attribute_set_between_two_calls_belongs_to_the_second(pair: Tensors) -> None:
    function, (x, _) = Masked(), pair
    results = []
    for scale in (2.0, 3.0, 4.0):
        function.scale = scale
        results.append(function(x))
    for scale, result in zip((2.0, 3.0, 4.0), results, strict=True):
        same(torch.autograd.grad(result.sum(), x), [(x > 0).double() * scale])


def test_an_attribute_set_before_backward_is_seen_there(pair: Tensors) -> None:
    function, (x, _) = Masked(), pair
    for _ in range(2):
        result = function(x)
        function.scale = 5.0
        same(torch.autograd.grad(result.sum(), x), [(x > 0).double() * 5])


def test_the_instance_shows_what_its_last_call_left(pair: Tensors) -> None:
    function, (x, y) = Masked(), pair
    for number, z in enumerate((x, y, x.detach(), y), 1):
        function(z)
        assert function.calls == number
        assert torch.equal(function.mask, z > 0)


def test_later_calls_have_a_grad_fn_that_reads_as_the_instance(pair: Tensors) -> None:
    function = Masked()
    function(pair[0])
    later = function(pair[1]).grad_fn
    assert type(later) is Masked
    assert later is not function
    assert vars(later) is vars(function)


def test_a_call_that_fails_leaves_the_instance_as_it_was(pair: Tensors) -> None:
    class Failing(Masked):
        def forward(self, x: Any) -> Any:
            super().forward(x)
            if self.calls > 1:
                raise ValueError("no")
            return x * 2

    function = Failing()
    first = function(pair[0])
    with pytest.raises(ValueError, match="no"):
        function(pair[1])
    assert function.calls == 1
    same(torch.autograd.grad(first.sum(), pair[0]), [(pair[0] > 0).double()])


def test_a_training_loop_with_one_instance(pair: Tensors) -> None:
    function, weight = Product(2.0), pair[0]
    for _ in range(3):
        weight.grad = None
        function(weight, pair[1]).sum().backward()
        same([weight.grad], [2 * pair[1]])


def test_threads_that_share_an_instance() -> None:
    function, wrong = Masked(), []
    inputs = [torch.randn(50, dtype=torch.float64, requires_grad=True) for _ in range(8)]

    def work(x: torch.Tensor) -> None:
        for _ in range(50):
            (grad,) = torch.autograd.grad(function(x).sum(), x)
            if not torch.equal(grad, (x.detach() > 0).double()):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_instance_that_calls_itself(pair: Tensors) -> None:
    class Twice(Masked):
        def forward(self, x: Any) -> Any:
            if not self.calls:
                self.calls = 1
                self.inner = self(x)
            return super().forward(x)

    function = Twice()
    same(torch.autograd.grad(function(pair[0]).sum(), pair[0]), [(pair[0] > 0).double()])
