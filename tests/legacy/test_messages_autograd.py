# mypy: disable-error-code="override,no-untyped-call,attr-defined"
"""The text of the errors around instance-style Functions and old idioms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd import Function, Variable

from opwright.errors import ArgumentError, OpwrightError, UnsupportedError
from opwright.legacy import autograd, idioms
from opwright.legacy.idioms.async_keyword import compile_source

_STATIC = "make forward and backward static methods with a ctx argument"


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    undo = [change.apply() for change in (*autograd.CHANGES, *idioms.CHANGES)]
    yield
    while undo:
        undo.pop()()


class Add(Function):
    def __init__(self, returned: Any = None) -> None:
        self.returned = returned

    def forward(self, x: Any, y: Any) -> Any:
        return x + y

    def backward(self, grad: Any) -> Any:
        return self.returned if self.returned is not None else (grad, grad)


class Returning(Add):
    def forward(self, x: Any) -> Any:
        return self.returned


def failing(call: Callable[[], Any], kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def leaves() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)


@pytest.mark.parametrize(("value", "named"), [(2, "a int"), (None, "a NoneType"), ([1], "a list")], ids=str)
def test_an_input_that_is_no_tensor(value: Any, named: str) -> None:
    assert failing(lambda: Add()(torch.ones(2), value), ArgumentError) == (
        f"Add()(...): argument 2 is {named}, not a tensor\n"
        "  expected:   tensors only; an instance-style Function takes everything else in __init__\n"
        "  likely fix: Add(value)(x), or a static forward(ctx, ...) and Add.apply(...)"
    )


def test_inputs_by_name() -> None:
    assert failing(lambda: Add()(torch.ones(2), y=torch.ones(2)), ArgumentError) == (
        "Add()(...): arguments by name: y\n"
        "  expected:   tensors by position\n"
        "  likely fix: give them without their names, in the order of forward"
    )


def test_a_result_that_is_no_tensor() -> None:
    assert failing(lambda: Returning([torch.ones(1)])(torch.ones(2)), TypeError) == (
        "Returning.forward returned a list as value 1\n"
        "  expected:   a tensor or a tuple of tensors\n"
        "  likely fix: keep everything else as an attribute of self; return several tensors as a tuple"
    )


@pytest.mark.parametrize(
    ("returned", "count"), [((torch.ones(2),), "1 gradient"), ((None, None, torch.ones(2)), "3 gradients")], ids=str
)
def test_the_number_of_gradients(returned: Any, count: str) -> None:
    assert failing(lambda: Add(returned)(*leaves()).sum().backward(), OpwrightError) == (
        f"Add.backward returned {count}\n"
        "  expected:   2, one for each input of forward\n"
        "  likely fix: return None for an input that has none; more than there are inputs may only be None"
    )


def test_a_gradient_that_is_no_tensor() -> None:
    assert failing(lambda: Add((None, 1.5))(*leaves()).sum().backward(), OpwrightError) == (
        "Add.backward returned a float as gradient 2\n"
        "  expected:   a tensor or None\n"
        "  likely fix: return one value for each input, several of them as a tuple"
    )


def test_differentiated_twice() -> None:
    x, y = leaves()
    (first,) = torch.autograd.grad((Add()(x, y) ** 2).sum(), x, create_graph=True)
    expected = (
        "Add is not differentiable twice\n"
        "  its backward is an instance's, and such a one runs with grad mode off\n"
        f"  likely fix: {_STATIC}"
    )
    assert failing(lambda: first.sum().backward(retain_graph=True), RuntimeError) == expected
    assert failing(lambda: torch.autograd.grad(first.sum(), y), RuntimeError) == expected


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own decompositions
def test_forward_mode() -> None:
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        assert failing(lambda: Add()(dual, torch.ones(2)), UnsupportedError) == (
            f"Add: an instance-style Function has no forward-mode derivative\n  likely fix: {_STATIC}, and add jvp"
        )


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_traced() -> None:
    assert failing(lambda: torch.jit.trace(lambda x: Add()(x, x), torch.ones(2)), UnsupportedError) == (
        f"Add: torch.jit.trace can't record an instance-style Function\n  likely fix: {_STATIC}"
    )


@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())])
def test_transformed(transform: Any) -> None:
    assert failing(lambda: transform(lambda x: Add()(x, x))(torch.ones(2)), UnsupportedError) == (
        "Add: torch.func (vmap, grad, jvp...) can't transform an instance-style Function\n"
        f"  likely fix: {_STATIC}, and add setup_context and vmap"
    )


def test_compiled_autograd() -> None:
    from torch._dynamo.compiled_autograd import _enable

    def backward() -> None:
        with _enable(lambda graph: graph):
            Add()(*leaves()).sum().backward()

    assert failing(backward, UnsupportedError) == (
        "compiled autograd can't run the backward of an instance-style Function\n"
        "  likely fix: leave torch._dynamo.config.compiled_autograd off, or make its methods static with a ctx argument"
    )


def test_volatile_and_requires_grad() -> None:
    assert failing(lambda: Variable(torch.ones(1), requires_grad=True, volatile=True), ArgumentError) == (
        "Variable(..., requires_grad=True, volatile=True)\n"
        "  expected:   one of the two: nothing that is computed from a volatile Variable requires grad\n"
        "  likely fix: leave out volatile, or requires_grad"
    )


def test_volatile_of_what_requires_grad() -> None:
    assert failing(lambda: setattr(leaves()[0], "volatile", True), ArgumentError) == (
        "volatile = True for a Tensor that requires grad\n"
        "  expected:   a plain tensor that requires no grad\n"
        "  likely fix: x = x.detach() first, or compute under torch.no_grad()"
    )


def test_python_2() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile_source(b"x = 1\nprint x\n", "old.py")
    assert caught.value.msg.endswith(
        "\n  this is Python 2, which Opwright doesn't run\n  expected:   Python 3 of any year"
        "\n  likely fix: convert the file once, for example with `2to3 -w` or `futurize`"
    )
    assert (caught.value.filename, caught.value.lineno) == ("old.py", 2)
