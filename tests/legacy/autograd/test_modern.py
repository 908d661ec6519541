"""Functions of today are untouched, and all is taken back."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import Function

from opwright.legacy.autograd import CHANGES
from tests.legacy.autograd.functions import Bare, Modern, Plain, Product, Tensors, gradients, same


# torch.compile makes an instance of Function itself, with us and without.
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function:DeprecationWarning")
def test_a_modern_function_is_what_it_was(pair: Tensors) -> None:
    x = pair[0]
    result = Modern.apply(x, 3.0)
    assert type(result.grad_fn).__name__ == "ModernBackward"
    assert type(result.grad_fn) is Modern._backward_cls
    same(gradients(result, [x]), gradients(x * 3, [x]))
    (first,) = torch.autograd.grad((Modern.apply(x, 3.0) ** 2).sum(), x, create_graph=True)
    same(torch.autograd.grad(first.sum(), x), [torch.full_like(x, 18)])
    assert torch.equal(torch.compile(lambda z: Modern.apply(z, 3.0) + 1, backend="eager", fullgraph=True)(x), x * 3 + 1)
    with pytest.warns(DeprecationWarning, match="should not be instantiated") as warned:
        instance = Modern()
    assert warned[0].filename == __file__
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        instance(x)


def test_functorch_and_a_modern_function(pair: Tensors) -> None:
    class Square(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * grad

    x = pair[0].detach()
    found = torch.func.vmap(torch.func.grad(lambda z: Square.apply(z).sum()))(x)
    torch.testing.assert_close(found, 2 * x)


@pytest.mark.slow
def test_compiled_code_leaves_the_call_to_python(pair: Tensors) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The .grad attribute")  # torch.compile's own, of what isn't a leaf
        compiled = torch.compile(lambda x, y: Product(2.0)(x * 2, y) + 1, backend="eager")
        result = compiled(*pair)
        same(gradients(result, pair), gradients(pair[0] * pair[1] * 4 + 1, pair))
        with pytest.raises(Exception, match="Dynamo"):
            torch.compile(lambda *inputs: Product(2.0)(*inputs) * 2, backend="eager", fullgraph=True)(*pair)


def test_the_profiler_knows_it_by_its_name(pair: Tensors) -> None:
    with torch.profiler.profile() as profile:
        Product()(*pair).sum().backward()
    assert "Product" in {event.key for event in profile.key_averages()}


def state() -> dict[str, Any]:
    return {**vars(Function), "meta": dict(vars(type(Function))), "apply of its base": Function.__mro__[1].apply}


# That it takes the same time was measured, too: 9.99 us without, 10.26 with; medians 20.5 and 20.4 (a busy machine).
def test_the_path_of_a_modern_call_is_untouched(undo: list[Callable[[], None]]) -> None:
    with_us = state()
    undo.pop()()
    without = state()
    changed = {name for name in {*with_us, *without} if with_us.get(name) != without.get(name)}
    assert changed == {"__call__", "__init__", "_do_forward"}  # of instances, and a modern call makes none


def test_taken_back_all_is_as_before(undo: list[Callable[[], None]]) -> None:
    undo.pop()()
    before = state()
    assert before["__call__"].__module__ == before["__init__"].__module__ == "torch.autograd.function"
    take_back = CHANGES[0].apply()
    assert state() != before
    take_back()
    assert state() == before


def test_after_it_is_taken_back(pair: Tensors, undo: list[Callable[[], None]]) -> None:
    result, function = Product(2.0)(*pair), Bare(2)
    undo.pop()()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        function(pair[0])
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Product(2.0)
    same(Plain.apply(pair[0]).unbind(), pair[0].unbind())
    # What was computed before is differentiated as it would have been.
    same(gradients(result, pair), gradients(pair[0] * pair[1] * 2, pair))
