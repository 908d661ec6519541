"""Functions of one element: what fits a pointwise signature, and what is said of one that doesn't."""

from __future__ import annotations

import pathlib

import pytest

from opwright.errors import SourceError, UnsupportedError
from opwright.signature import parse
from opwright.sources import Kernel, scan
from opwright.sources.matching import match

T1, T2 = "template <class T> ", "template <class T, class U> "


def kernel(signature: str, function: str, name: str = "op.cpp") -> Kernel:
    (only,) = scan(pathlib.Path(name), f'OPWRIGHT("{signature}")\n{function} {{}}\n').kernels
    assert only.signature == parse(signature)
    return only


def test_the_order_is_inputs_outputs_residuals() -> None:
    found = match(
        kernel(
            "f(x: T, k: i64, alpha: float, w: U?, z: T!) -> (y: T, up: bool; r: acc(T))",
            T2 + "void f(T a, int64_t b, double c, Optional<U> d, T &e, T &g, bool &h, acc<T> &i)",
        )
    )
    assert [(a.parameter.name, a.role, a.name) for a in found] == [
        ("a", "input", "x"),
        ("b", "input", "k"),
        ("c", "scalar", "alpha"),
        ("d", "input", "w"),
        ("e", "input", "z"),
        ("g", "output", "y"),
        ("h", "output", "up"),
        ("i", "residual", "r"),
    ]


@pytest.mark.parametrize(
    ("signature", "function"),
    [
        ("f(x: T) -> (y: T)", T1 + "T f(T x)"),
        ("f(x: T) -> (y: T)", T1 + "inline T f(const T &x)"),
        ("f(x: T) -> (y: T)", T1 + "auto f(T x) -> T"),
        ("f(x: T) -> (y: T)", T1 + "static void f(T x, T &y)"),
        ("f(x: T) -> (y: T)", "template <class Real> Real f(const Real x)"),
        ("f(x: T) -> (above: bool)", T1 + "bool f(T x)"),
        ("f(x: f64) -> (y: f64)", "double f(double x)"),
        ("f(x: f16, k: u8) -> (y: f16)", "half f(half x, unsigned char k)"),
        ("f(x: T, y: U) -> (z: U)", "template <class U, class T> U f(T x, U y)"),
        ("f(x: T!, a: float)", T1 + "void f(T &x, float a)"),
        ("f(x: T, w: f32?) -> (y: T)", T1 + "T f(T x, const Optional<float> &w)"),
    ],
)  # fmt: skip
def test_what_fits(signature: str, function: str) -> None:
    match(kernel(signature, function))


def test_the_fix_of_a_wrong_number_of_parameters_returns_what_the_function_returns() -> None:
    with pytest.raises(SourceError, match=r"likely fix: T f\(T x, T w\)$"):
        match(kernel("f(x: T, w: T) -> (y: T)", T1 + "T f(T x)"))


@pytest.mark.parametrize(
    ("signature", "function", "problem"),
    [
        ("f(x: T) -> (y: T)", T1 + "void f(T x)", "the function takes 1 parameter, expected 2: x (input), y (output)"),
        ("f(x: T) -> (y: T)", T1 + "T f(T x, T &y)", "the function takes 2 parameters, expected 1: x (input)"),
        ("f(x: T) -> (y: T)", "void f(float x, float &y)", "the function is no template"),
        ("f(x: T) -> (y: T)", T1 + "float f(T x)", "the function returns `float`, expected `T` for the output `y: T`"),
        ("f(x: T) -> (y: T, z: T)", T1 + "T f(T x)", "the function returns `T`, but there are 2 results"),
        ("f(x: T) -> (y: T)", T1 + "void f(T x, T y)", "the function writes to it, so it is a reference, not const"),
        ("f(x: T) -> (y: T)", T1 + "void f(T &x, T &y)", "an input isn't written to"),
        ("f(x: T) -> (y: T)", T1 + "void f(T *x, T &y)", "parameter 1 is `T *x`, expected `T x`"),
        ("f(x: T) -> (y: T)", T1 + "void f(Tensor<const T> x, T &y)", "written for one element, not for a tensor"),
        ("f(x: T) -> (y: T)", T1 + "T f(T &&x)", "parameter 1 is `T &&x`, expected `T x`"),
        ("f(x: T) -> (y: T)", T1 + "T f(double x)", "it is T"),
        ("f(x: T, k: i64) -> (y: T)", T1 + "T f(T x, int k)", "expected `int64_t k`"),
        ("f(x: T, w: T?) -> (y: T)", T1 + "T f(T x, T w)", "an optional argument is an Optional<...>"),
        ("f(x: T, w: T) -> (y: T)", T1 + "T f(T x, Optional<T> w)", "it is always given"),
        ("f(x: T, a: float) -> (y: T)", T1 + "T f(T x, T a)", "a scalar `a: float` is one of double, float"),
        ("f(x: T, y: T) -> (z: T)", T1 + "T f(T y, T x)", "parameter 1 is called y, expected x there"),
        ("f(x: T!)", T1 + "void f(T x)", "expected `T &x` for the input `x: T!`"),
    ],
)  # fmt: skip
def test_what_does_not_fit(signature: str, function: str, problem: str) -> None:
    with pytest.raises(SourceError) as caught:
        match(kernel(signature, function))
    first, *rest = str(caught.value).split("\n")
    assert first.startswith("op.cpp:2: f: ")
    assert problem in first
    assert [line.split(":")[0] for line in rest] == ["  signature", "  function", "  likely fix"]


def test_c_has_no_templates_to_derive_from() -> None:
    with pytest.raises(UnsupportedError, match=r"op\.c:1: f: a pointwise operator .* is written in C\+\+"):
        match(kernel("f(x: f32) -> (y: f32)", "float f(float x)", "op.c"))
