"""What instance-style Functions get, return or lack that is wrong."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import Function

from opwright.errors import OpwrightError
from tests.legacy.autograd.functions import Plain, Product, Tensors, gradients, same


def test_inputs_are_tensors(pair: Tensors) -> None:
    for wrong in (2, 2.0, None, [pair[0]], "x"):
        with pytest.raises(RuntimeError, match="argument 2 is a"):
            Product()(pair[0], wrong)
    with pytest.raises(RuntimeError, match="by name: y"):
        Product()(pair[0], y=pair[1])


@pytest.mark.parametrize("returned", [None, 3, [torch.ones(1)], (torch.ones(1), "x")], ids=str)
def test_results_are_tensors(pair: Tensors, returned: Any) -> None:
    class Wrong(Plain):
        def forward(self, x: Any) -> Any:
            return returned

    with pytest.raises(TypeError, match="expected:   a tensor or a tuple of tensors"):
        Wrong()(pair[0])


@pytest.mark.parametrize("grads", [(), (1,), (None, None, 1)])
def test_the_number_and_the_type_of_gradients(pair: Tensors, grads: Any) -> None:
    class Wrong(Product):
        def backward(self, grad: Any) -> Any:
            return grads

    with pytest.raises(OpwrightError, match=r"Wrong\.backward returned"):
        Wrong()(*pair).sum().backward()


def test_a_gradient_that_is_no_tensor(pair: Tensors) -> None:
    class Wrong(Plain):
        def backward(self, grad: Any) -> Any:
            return 1.0

    with pytest.raises(OpwrightError, match="a float as gradient 1"):
        Wrong()(pair[0]).sum().backward()


def test_no_backward(pair: Tensors) -> None:
    class Forward(Function):
        def forward(self, x: Any) -> Any:
            return x * 2

    result = Forward()(pair[0])
    with pytest.raises(NotImplementedError, match="backward"):
        result.sum().backward()


def test_an_error_in_backward_is_the_users(pair: Tensors) -> None:
    class Failing(Plain):
        def backward(self, grad: Any) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Failing()(pair[0]).sum().backward()


def test_a_wrong_number_of_inputs(pair: Tensors) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        Product()(pair[0])
    same([Product()(*pair)], [pair[0] * pair[1]])  # the failed call left nothing behind


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_other_machinery_of_pytorch_says(pair: Tensors) -> None:
    x = pair[0].detach()
    with pytest.raises(NotImplementedError, match=r"torch\.func .* can't transform"):
        torch.func.vmap(Plain())(x)
    with pytest.raises(NotImplementedError, match=r"torch\.func .* can't transform"):
        torch.func.grad(lambda z: Plain()(z).sum())(x)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            Plain()(dual)
    with pytest.raises(RuntimeError, match=r"torch\.jit\.trace"):
        torch.jit.trace(lambda z: Plain()(z) * 2, x)


def test_a_static_backward_beside_an_ordinary_forward(pair: Tensors) -> None:
    class Mixed(Plain):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.by

        def __init__(self) -> None:
            self.by = 4

    same(gradients(Mixed()(pair[0]), pair[:1]), gradients(pair[0] * 4, pair[:1]))
