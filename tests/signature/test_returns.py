"""Results in a list, and arguments as results: what follows from them, and the text of every error."""

from __future__ import annotations

import pytest

from opwright.signature import parse, schema

from .messages import assert_refused


@pytest.mark.parametrize(
    ("text", "expected", "with_residuals"),
    [
        ("f(x: T[N]) -> [y: T[N]]", "Tensor[]", "Tensor"),
        ("f(x: T[N]) -> [y: T[N], z: f32[]; r: T[N]]", "Tensor[]", "(Tensor, Tensor, Tensor)"),
        ("f(x: T[N]!, y: T[N]!) -> (y)", "Tensor(b!)", "()"),
        ("f(x: T[N]!, y: T[N]!) -> (y, x; r: T[N])", "(Tensor(b!), Tensor(a!))", "Tensor"),
        ("f(x: T!) -> (x)", "Tensor(a!)", "()"),
    ],
)
def test_schemas(text: str, expected: str, with_residuals: str) -> None:
    signature = parse(text)
    assert str(signature) == text
    assert parse(str(signature)) == signature
    assert schema(signature).partition(" -> ")[2] == expected
    assert schema(signature, with_residuals=True).partition(" -> ")[2] == with_residuals


def test_what_they_are() -> None:
    listed, plain = parse("f(x: T[N]) -> [y: T[N]]"), parse("f(x: T[N]) -> (y: T[N])")
    assert listed != plain
    assert listed.outputs == plain.outputs
    assert listed.replaced(listed=False) == plain
    returned = parse("f(x: T[N]!) -> (x)")
    assert (returned.outputs, returned.returned, returned.written) == ((), ("x",), returned.mutated)


_OF_A_LIST = "parentheses around the results; or a tensor that is always there: y: i64[]"
_ANYWAY = "leave it out: it is overwritten anyway"
_OWN = "'x' is an argument, and 'y' is a result of the operator's own"
MESSAGES = [
    ("f(x: T[N]) -> ^[]", "a list of results has one at least", "-> [y: T[N]]"),
    (
        "f_backward(grad_y: T[N]) -> ^[grad_x: T[N]]",
        "a backward returns gradients, each by itself",
        "parentheses: -> (grad_x: T[N])",
    ),
    (
        "f(xs: list[T[each N]]) -> ^[y: f32[]]",
        "'xs' is a list of tensors, beside which results can't be one list",
        "parentheses: -> (y: T[N])",
    ),
    ("f(x: T[N]) -> [^y: int]", "'y' is a count, and a list has tensors alone", _OF_A_LIST),
    ("f(x: T[N], z: bool) -> [^y: T[N]? if z]", "'y' is optional, and a list has tensors alone", _OF_A_LIST),
    ("f(x: T[N]) -> [y: T[N]^)", "expected ',' or ']' after an output, found ')'", None),
    (
        "f(x: T[N]) -> (^x)",
        "'x' is returned, but isn't overwritten: PyTorch knows no such view",
        "overwrite it, x: T[N]!; or a result of another name",
    ),
    ("f(x: T[N]!, k: int) -> (^k)", "'k' is returned, but isn't overwritten: PyTorch knows no such view", None),
    ("f(x: T[N]!) -> (^x, y: T[N])", _OWN, "leave out x, which is overwritten anyway"),
    ("f(x: T[N]!) -> (y: T[N], ^x)", _OWN, "leave out x, which is overwritten anyway"),
    ("f(x: T[N]) -> (^y)", "'y' is returned, but is no input", "a result says its type: y: T[N]"),
    ("f(first: T[N]!) -> (^frist)", "'frist' is returned, but is no input", "did you mean first?"),
    ("f(x: T[N]!?) -> (^x)", "'x' is returned, and not always there", _ANYWAY),
    ("f(x: T[N]!) -> (^x, x)", "'x' is returned twice", "leave one out"),
    ("f(xs: list[T[each N]]!) -> (^xs)", "'xs' is returned, and a list", _ANYWAY),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MESSAGES)
def test_mistakes(marked: str, message: str, fix: str | None) -> None:
    assert_refused(marked, message, fix)
