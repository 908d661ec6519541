"""Values and gradients of instance-style Functions, against the same formula in PyTorch's own operators."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import Function, gradcheck

from tests.legacy.autograd.functions import Bare, Plain, Product, Split, Tensors, gradients, same


def test_the_formula_in_pytorchs_own_operators(pair: Tensors) -> None:
    ours, theirs = Product(2.5)(*pair), pair[0] * pair[1] * 2.5
    same([ours], [theirs])
    same(gradients(ours, pair), gradients(theirs, pair))


def test_numerical_gradients(pair: Tensors) -> None:
    assert gradcheck(lambda *inputs: Product(2.5)(*inputs) * 2, pair)
    assert gradcheck(Product(2.5), pair)  # one instance, called many times
    assert gradcheck(Bare(3), pair[:1])
    assert gradcheck(Split(), pair[:1])


def test_the_result_has_the_instance_as_its_grad_fn(pair: Tensors) -> None:
    function = Product(2.0)
    result = function(*pair)
    assert result.grad_fn is function
    assert result.grad_fn.name() == "Product"
    assert len(result.grad_fn.next_functions) == 2
    assert function.needs_input_grad == (True, True)


def test_only_what_requires_grad_gets_one(pair: Tensors) -> None:
    function = Product(2.0)
    result = function(pair[0], pair[1].detach())
    needs: Any = function.needs_input_grad
    assert needs == (True, False)
    same(gradients(result, [pair[0]]), gradients(pair[0] * pair[1].detach() * 2, [pair[0]]))


def test_needs_input_grad_in_forward_and_backward(pair: Tensors) -> None:
    function = Bare(2)
    function(pair[0]).sum().backward()
    assert function.asked == (True,)


def test_nothing_requires_grad(pair: Tensors) -> None:
    x, y = (z.detach() for z in pair)
    assert not Product()(x, y).requires_grad
    with torch.no_grad():
        result = Product()(*pair)
    assert result.grad_fn is None
    same([result], [x * y])


def test_a_chain_with_other_operators(pair: Tensors) -> None:
    x, y = pair
    ours = Plain()(Product(3.0)(x.exp(), y.t().t()).sin())
    same(gradients(ours, pair), gradients((x.exp() * y * 3).sin(), pair))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3, 4, 5)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    same(gradients(Bare(2)(x), [x]), gradients(x**2, [x]))


def test_gradients_that_nobody_gave_are_zeros(pair: Tensors) -> None:
    function = Split()
    first, _ = function(pair[0])
    first.sum().backward()
    same(function.seen, [torch.ones_like(first), torch.zeros_like(first)])
    same([pair[0].grad], [torch.full_like(first, 2)])


def test_a_single_tensor_in_a_tuple_stays_in_it(pair: Tensors) -> None:
    class One(Plain):
        def forward(self, x: Any) -> Any:
            return (x.clone(),)

    result = One()(pair[0])
    assert isinstance(result, tuple)
    assert result[0].requires_grad


def test_an_input_returned_as_it_is(pair: Tensors) -> None:
    class Identity(Plain):
        def forward(self, x: Any) -> Any:
            return x

    function = Identity()
    result = function(pair[0])
    assert result is not pair[0]
    assert result.grad_fn is not None
    same(gradients(result, pair[:1]), gradients(pair[0] * 1, pair[:1]))


def test_a_view_of_an_input(pair: Tensors) -> None:
    class Flat(Function):
        def forward(self, x: Any) -> Any:
            self.shape = x.size()
            return x.view(-1)

        def backward(self, grad: Any) -> Any:
            return grad.view(self.shape)

    same(gradients(Flat()(pair[0]), pair[:1]), gradients(pair[0].view(-1), pair[:1]))


def test_a_function_in_a_functions_backward_and_forward(pair: Tensors) -> None:
    class Outer(Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return Bare(2)(x) + Plain()(x)

        def backward(self, grad: Any) -> Any:
            (x,) = self.saved_tensors
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                (found,) = torch.autograd.grad(Bare(2)(inner).sum(), inner)
            return grad * (found + 1)

    x = pair[0]
    same(gradients(Outer()(x), [x]), gradients(x**2 + x, [x]))


def test_backward_called_by_hand(pair: Tensors) -> None:
    function = Product(2.0)
    function(*pair)
    with torch.no_grad():
        same(function.backward(torch.ones(3, 4, dtype=torch.float64)), [pair[1] * 2, pair[0] * 2])


def test_hooks_of_node_and_tensor(pair: Tensors) -> None:
    function, seen = Product(), []
    result = function(*pair)
    function.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    result.register_hook(lambda grad: grad * 2)
    result.sum().backward()
    assert seen == [(2, 1)]
    same([pair[0].grad], [2 * pair[1]])


def test_saved_tensors_hooks_see_what_is_saved(pair: Tensors) -> None:
    packed = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        packed.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        result = Product()(*pair)
    assert len(packed) == 2
    same(gradients(result, pair), gradients(pair[0] * pair[1], pair))


# In place, and without derivative


class AddOne(Function):
    def forward(self, x: Any) -> Any:
        x.add_(1)
        self.mark_dirty(x)
        return x

    def backward(self, grad: Any) -> Any:
        return grad


def test_mark_dirty(pair: Tensors) -> None:
    x = pair[0]
    middle = x * 2
    version, function = middle._version, AddOne()
    result = function(middle)
    assert result is middle
    assert middle.grad_fn is function
    assert middle._version > version
    same(gradients(result.sin(), [x]), gradients((x * 2 + 1).sin(), [x]))


def test_mark_dirty_of_what_another_operator_saved(pair: Tensors) -> None:
    middle = pair[0] * 2
    square = middle * middle
    AddOne()(middle)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_mark_dirty_of_a_leaf(pair: Tensors) -> None:
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        AddOne()(pair[0])


def test_mark_non_differentiable(pair: Tensors) -> None:
    class Sort(Function):
        def forward(self, x: Any) -> Any:
            values, index = x.sort(1)
            below = values < 0
            self.mark_non_differentiable(index, below)
            self.index = index
            return values, index, below

        def backward(self, grad: Any, index_grad: Any, below_grad: Any) -> Any:
            assert index_grad.shape == below_grad.shape == grad.shape
            return torch.zeros_like(grad).scatter_(1, self.index, grad)

    x = pair[0]
    values, index, below = Sort()(x)
    assert (values.requires_grad, index.requires_grad, below.requires_grad) == (True, False, False)
    same(gradients(values, [x]), gradients(x.sort(1)[0], [x]))
