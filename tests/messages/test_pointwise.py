"""The text of the errors of pointwise operators."""

from __future__ import annotations

import re

import pytest
import torch

import opwright
from opwright import (
    ArgumentError,
    CompileError,
    SourceError,
    UnsupportedError,
)
from tests.messages.raising import Write, failing

POINTWISE = """
OPWRIGHT("f(x: T, y: T) -> (z: T)")
template <class T> T f(T x, T y) { return x * y; }
OPWRIGHT("g(x: T!, y: T)")
template <class T> void g(T &x, T y) { x = x * y; }
OPWRIGHT("h(x: T, y: T) -> (z: f32)")
template <class T> void h(T x, T y, float &z) { z = value_of(x * y); }
OPWRIGHT("k(x: T, y: T) -> (z: T) where T in (f32)")
template <class T> T k(T x, T y) { return x - y; }
"""


F = "f(x: T, y: T) -> (z: T)"


LISTED = "x (input), y (input), z (output)"


UNFIT = [
    (
        "template <class T> void f(T x, T y, T z) {}",
        F,
        (
            "parameter 3 is `T z`, expected `T &z` for the output `z: T`: the "
            "function writes to it, so it is a reference, not const"
        ),
        "declare parameter 3 as `T &z`",
    ),
    (
        "template <class T> void f(T x, double y, T &z) {}",
        F,
        ("parameter 2 is `double y`, expected `T y` for the input `y: T`: it is T"),
        "declare parameter 2 as `T y`",
    ),
    (
        "template <class T> void f(T x, T y) {}",
        F,
        f"the function takes 2 parameters, expected 3: {LISTED}",
        "void f(T x, T y, T &z)",
    ),
    (
        "template <class T> double f(T x, T y) { return 0; }",
        F,
        ("the function returns `double`, expected `T` for the output `z: T`"),
        "return `T`, or void with a last parameter `T &z`",
    ),
    (
        "template <class T> T f(T x, T y) { return x; }",
        "f(x: T, y: T) -> (z: T, w: T)",
        ("the function returns `T`, but there are 2 results"),
        "return void, and take each result as a reference",
    ),
    (
        "void f(float x, float y, float &z) {}",
        F,
        ("the function is no template, but the signature has the type variables T; expected `template <class T>`"),
        "template <class T> void f(T x, T y, T &z)",
    ),
    (
        "void f(T x, T y, T &z) {}",
        F,
        ("the function is no template, but the signature has the type variables T; expected `template <class T>`"),
        ("write `template <class T>` before the function, or concrete types (f32) for T in the signature"),
    ),
    (
        "template <class T> void f(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {}",
        F,
        (
            "parameter 1 is `Tensor<const T> "
            "x`, expected `T x` for the input `x: T`: the function is written for one element, not for a tensor"
        ),
        "declare parameter 1 as `T x`",
    ),
    (
        "template <class T> T f(T x, T y) { return x; }",
        "f(x: T, y: T?) -> (z: T)",
        (
            "parameter 2 is `T y`, expected "
            "`Optional<T> y` for the input `y: T?`: an optional argument is an Optional<...>"
        ),
        ("declare parameter 2 as `Optional<T> y`"),
    ),
]


@pytest.mark.parametrize(("function", "signature", "problem", "fix"), UNFIT)
def test_functions_that_arent_the_pointwise_ones(
    write: Write, function: str, signature: str, problem: str, fix: str
) -> None:
    source = write(f'OPWRIGHT("{signature}")\n{function}', "unfit.cpp")
    declared = function.partition(" {")[0]
    assert failing(lambda: opwright.load(source), SourceError) == (
        f"{source}:3: f: {problem}\n"
        f"  signature:  {signature}  ({source}:2)\n"
        f"  function:   {declared}  ({source}:3)\n"
        f"  likely fix: {fix}"
    )


def test_arguments_of_pointwise_operators(write: Write) -> None:
    ops = opwright.load(write(POINTWISE, "elements.cpp"))
    rows, pair = torch.ones(2, 3), torch.ones(4)
    assert failing(lambda: ops.f(rows, pair), ArgumentError) == (
        "f(): y has shape (4,), which doesn't broadcast with (2, 3): sizes, counted from the last, are equal or 1\n"
        "  bound so far: ...=(2, 3) (x)\n"
        f"  signature:    {F}"
    )
    assert failing(lambda: ops.k(rows, rows.double()), ArgumentError) == (
        "k(): the element types x float32, y float64 promote to float64, expected T in (float32)\n"
        "  signature:    k(x: T, y: T) -> (z: T) where T in (f32)\n"
        "  likely fix:   y.to(torch.float32)"
    )
    text = failing(lambda: ops.g(torch.ones(3), rows), ArgumentError)
    assert text.startswith("g(): x has shape (3,) and is overwritten, but the arguments broadcast to (2, 3)\n")
    text = failing(lambda: ops.g(torch.ones(3, dtype=torch.int64), torch.ones(3)), ArgumentError)
    assert text.startswith(
        "g(): x has element type int64 and is overwritten, but the result is float32, which can't be cast to it\n"
    )


@pytest.mark.slow
def test_derivatives_that_arent_derived(write: Write) -> None:
    ops = opwright.load(write(POINTWISE, "underived.cpp"))
    x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
    assert failing(lambda: ops.h(x, y).sum().backward(), UnsupportedError) == (
        "h() has no gradient: there is no h_backward\n"
        "  signature:  h(x: T, y: T) -> (z: f32)\n"
        "  not derived: z: f32 has a fixed type, which can't carry a derivative; write z: T\n"
        '  likely fix: write OPWRIGHT("h_backward(grad_z: f32, x: T, y: T) -> (grad_x: T, grad_y: T)") and its '
        "function beside it"
    )
    first = torch.autograd.grad(ops.f(x, y).prod(), (x, y), create_graph=True)
    second = torch.autograd.grad(first[0].prod() + first[1].prod(), (x, y), create_graph=True)
    text = failing(lambda: torch.autograd.grad(second[0].prod(), x), UnsupportedError)
    assert text.startswith("f_backward_backward() has no third derivative: there is no f_backward_backward_backward\n")
    assert "\n  not derived: first and second derivatives are\n" in text


def test_a_function_that_returns_nothing(write: Write) -> None:
    """Compilers only warn, and the result would be anything; a macro may hold the return."""
    function = "template <class T>\nT f(T x) {\n  x * x;\n}"
    source = write(f'OPWRIGHT("f(x: T) -> (y: T)")\n{function}', "no_return.cpp")
    assert failing(lambda: opwright.load(source), SourceError) == (
        f"{source}:4: f: the function returns `T`, and there is no return in it\n  likely fix: return the value of y"
    )
    source = write(f'OPWRIGHT("f(x: T) -> (y: T)")\n{function.replace("x * x", "SQUARE(x)")}', "macro_return.cpp")
    opwright.load(source)


BODIES = {
    "return std::exp(x);": "write exp(...) without std::, which opwright.h has",
    "return helper(x);": "make it a template: template <class T> T helper(T x)",
    "float y = x; return y;": "declare it as T or auto; value_of(x) is the value alone",
}


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_bodies_that_cant_be_differentiated(write: Write, body: str) -> None:
    """The user's line first; then, below the compiler's words, what to write."""
    source = write(
        "#include <cmath>\nfloat helper(float x) { return x * x; }\n"
        f'OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T>\nT f(T x) {{\n  {body}\n}}\n',
        f"undual_{list(BODIES).index(body)}.cpp",
    )
    text = failing(lambda: opwright.load(source).f(torch.ones(3)), CompileError)
    why = "where gradients are derived, a function is also compiled for numbers that carry derivatives"
    assert re.match(rf"{re.escape(str(source))}:7:\d+: error: .*: {why}\n    7 \|   {re.escape(body)}\n", text)
    assert re.search(r"\n  compiler:   .*Dual<", text)
    (fix,) = (line for line in text.splitlines() if line.startswith("  likely fix: "))
    assert BODIES[body] in fix
