"""The text of the errors of calls that PyTorch's own parser refuses: in terms of the signature as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import opwright
from opwright import ArgumentError
from tests.messages.raising import Write, failing

SIGNATURE = "f(x: T[N], k: int, alpha: float = 1.0) -> (y: T[N])"
X = torch.ones(3)
Call = Callable[[Any], object]

REFUSED: list[tuple[Call, str, str]] = [
    (lambda f: f(np.ones(3), 1), "x is a numpy.ndarray of shape (3,), expected a tensor T[N]", "torch.from_numpy(x)"),
    (
        lambda f: f(3.0, 1),
        "x is the float 3.0, expected a tensor T[N]",
        "torch.tensor(3.0); or, if it is meant to be a number, in the signature: `x: float`",
    ),
    (lambda f: f([1.0], 1), "x is a list, expected a tensor T[N]", "torch.tensor(x)"),
    (
        lambda f: f(X),
        "k is missing, expected an int",
        "give it, as k=1, or a default in the signature: `k: int = 1`",
    ),
    (lambda f: f(k=1), "x is missing, expected a tensor T[N]", "give it: x=..."),
    (
        lambda f: f(X, 1, alhpa=2.0),
        "there is no argument alhpa; the arguments are x, k, alpha",
        "did you mean alpha=2.0?",
    ),
    (lambda f: f(X, kk=2), "there is no argument kk; the arguments are x, k, alpha", "did you mean k=2?"),
    (lambda f: f(X, 1, nothing=2), "there is no argument nothing; the arguments are x, k, alpha", "leave out nothing="),
    (lambda f: f(X, 1, 2.0, k=2), "k is given twice, by its place and by its name", "leave out k="),
    (lambda f: f(X, 1.5), "k is the float 1.5, expected an int", "int(k)"),
    (
        lambda f: f(X, 1, X),
        "alpha is a tensor of shape (3,), expected a float",
        "if it is meant to be a tensor, write so in the signature: `alpha: T[...]`",
    ),
    (lambda f: f(X, 1, "a"), "alpha is the str 'a', expected a float", ""),
]


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    source = tmp_path_factory.mktemp("parsed") / "parsed_calls.cpp"
    function = "template <class T> void f(Tensor<const T, 1> x, int64_t k, double alpha, Tensor<T, 1> y) {}"
    source.write_text(f'#include <opwright.h>\nOPWRIGHT("{SIGNATURE}")\n{function}\n')
    return opwright.load(source)


@pytest.mark.parametrize(("call", "problem", "fix"), REFUSED)
def test_what_pytorchs_parser_refuses(ops: opwright.Operators, call: Call, problem: str, fix: str) -> None:
    for f in (ops.f, torch.ops.parsed_calls.f, torch.ops.parsed_calls.f.default):
        assert failing(lambda f=f: call(f), ArgumentError) == (  # type: ignore[misc]
            f"f(): {problem}\n  signature:    {SIGNATURE}" + f"\n  likely fix:   {fix}" * bool(fix)
        )


def test_too_many_arguments(ops: opwright.Operators) -> None:
    assert failing(lambda: ops.f(X, 1, 2.0, 3), ArgumentError) == (
        f"f(): 4 arguments are given, expected at most 3 (x, k, alpha)\n  signature:    {SIGNATURE}"
    )


def test_other_errors_stay(ops: opwright.Operators) -> None:
    assert failing(lambda: ops.f(torch.ones(2, 2), 1), ArgumentError).startswith(
        "f(): x has shape (2, 2), expected [N]"
    )
    assert ops.f(X, 1).shape == (3,)
    assert ops.f(X, k=1, alpha=2).shape == (3,)


def test_a_leaf_that_is_overwritten(write: Write) -> None:
    function = "template <class T> void f_(Tensor<T, 1> x) {}"
    ops = opwright.load(write(f'OPWRIGHT("f_(x: T[N]!)")\n{function}', "leaf.cpp"))
    leaf = torch.ones(3, requires_grad=True)
    text = failing(lambda: ops.f_(leaf), RuntimeError)
    assert text.startswith("f_(): x is overwritten, and it is a leaf that requires a gradient\n  PyTorch:      ")
    fix = "x.clone() before the call; or, to change a parameter, call it under torch.no_grad()"
    assert text.endswith(f"\n  likely fix:   {fix}")
    with torch.no_grad():
        ops.f_(leaf)


def test_a_schema_as_signature(write: Write) -> None:
    source = write('OPWRIGHT("e(Tensor x, float alpha=1.0) -> Tensor")\ntemplate <class T> void e() {}', "schema.cpp")
    assert failing(lambda: opwright.load(source), opwright.SignatureError) == (
        f"{source}:2: this is a schema of PyTorch's; a signature names each argument, then its type and axes\n"
        "  e(Tensor x, float alpha=1.0) -> Tensor\n  ^\n"
        "  likely fix: e(x: T[...], alpha: float = 1.0) -> (y: T[...]), with the axes' names for ..."
    )


def test_a_backward_of_another_result(write: Write) -> None:
    forward = 'OPWRIGHT("f(x: T[N]) -> (out: T[N])")\ntemplate <class T> void f(Tensor<const T> x, Tensor<T> out) {}\n'
    backward = 'OPWRIGHT("f_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")\n'
    function = "template <class T> void f_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<T> grad_x) {}\n"
    source = write(forward + backward + function, "renamed.cpp")
    assert failing(lambda: opwright.load(source), opwright.SignatureError) == (
        f"{source}:4: f_backward doesn't take grad_out: gradients through out would be lost\n"
        "  signature:  f_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])\n"
        "  likely fix: rename grad_y to grad_out: the result of f is called out"
    )
