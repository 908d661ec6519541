"""Instance-style Functions as classes and objects."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest
from torch.autograd import Function

from tests.legacy.autograd.functions import Masked, Plain, Product, Tensors, gradients, same


def test_inheritance(pair: Tensors) -> None:
    class Halved(Product):
        def forward(self, x: Any, y: Any) -> Any:
            return super().forward(x, y) / 2

        def backward(self, grad: Any) -> Any:
            return super().backward(grad / 2)

    Product(1.0)(*pair)
    same(gradients(Halved(3.0)(*pair), pair), gradients(pair[0] * pair[1] * 1.5, pair))


def test_old_forms_of_init(pair: Tensors) -> None:
    class ByName(Plain):
        def __init__(self, more: int) -> None:
            Function.__init__(self)
            self.more = more

    assert ByName(1)(pair[0]).grad_fn.more == 1
    Plain()


def test_inplace_and_nested_io_function(pair: Tensors) -> None:
    from torch.autograd.function import InplaceFunction, NestedIOFunction

    class MaybeInplace(InplaceFunction):
        def forward(self, x: Any) -> Any:
            return x.clone()

        def backward(self, grad: Any) -> Any:
            return grad * (2 if self.inplace else 1)

    class Nested(NestedIOFunction):
        def forward_extended(self, first: Any, rest: Any) -> Any:
            self.save_for_backward(first, rest)
            return first * rest[0], (rest[0] + first,)

        def backward_extended(self, product: Any, total: Any) -> Any:
            first, rest = self.saved_tensors
            return product * rest[0] + total[0], product * first + total[0]

    before = dict(vars(NestedIOFunction))
    with pytest.raises(NotImplementedError):
        NestedIOFunction()(pair[0])
    assert dict(vars(NestedIOFunction)) == before
    same(gradients(MaybeInplace(inplace=True)(pair[0]), pair[:1]), gradients(pair[0] * 2, pair[:1]))
    x, y = pair
    product, (total,) = Nested()(x, (y,))
    same(gradients(product + 2 * total, pair), gradients(x * y + 2 * (x + y), pair))


def test_apply_of_a_class_with_ordinary_methods_runs_as_it_does_without_us(pair: Tensors) -> None:
    Plain()(pair[0])
    result = Plain.apply(pair[0])
    assert type(result.grad_fn).__name__ == "PlainBackward"
    same(gradients(result, pair[:1]), gradients(pair[0] * 1, pair[:1]))


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, pickle.dumps])
def test_instances_are_neither_copied_nor_pickled_as_ever(pair: Tensors, through: Any) -> None:
    function = Product()
    for _ in range(2):
        with pytest.raises(TypeError, match="pickle"):
            through(function)
        function(*pair)


def test_nothing_of_ours_is_among_the_attributes(pair: Tensors) -> None:
    function = Product(2.0)
    for _ in range(3):
        function(*pair).sum().backward()
    assert vars(function) == {"by": 2.0, "shape": pair[0].shape}


class Marker:
    """Something whose end can be seen."""


def test_instances_and_what_they_hold_die_with_the_result(pair: Tensors) -> None:
    class Holding(Product):
        def forward(self, x: Any, y: Any) -> Any:
            self.marker = Marker()
            alive.append(weakref.ref(self.marker))
            return super().forward(x, y)

    alive: list[weakref.ref[Any]] = []
    gc.disable()
    try:
        function = Holding()
        for _ in range(3):
            function(*pair).sum().backward()
        del function
        for _ in range(3):
            Holding()(*pair).sum().backward()
            Holding()(*pair)
    finally:
        gc.enable()
    assert [one() for one in alive] == [None] * 9


@pytest.mark.slow
def test_attributes_that_hold_the_result_are_collected(pair: Tensors) -> None:
    class Keeping(Product):
        def forward(self, x: Any, y: Any) -> Any:
            self.marker = Marker()
            alive.append(weakref.ref(self.marker))
            self.me = self
            return super().forward(x, y)

    alive: list[weakref.ref[Any]] = []
    function = Keeping()
    function(*pair).sum().backward()
    function(*pair).sum().backward()
    function.after = function(*pair)
    del function
    gc.collect()
    assert [one() for one in alive] == [None] * 3


@pytest.mark.slow
def test_many_calls_leave_no_objects(pair: Tensors) -> None:
    function = Masked()

    def count() -> int:
        for _ in range(20):
            (function(pair[0]) + Product()(*pair)).sum().backward()
        gc.collect()
        return len(gc.get_objects())

    count()
    first = count()
    assert abs(count() - first) < 20
