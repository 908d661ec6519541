"""Scalars of C++ functions: enums, optional ones, strings, template parameters."""

from __future__ import annotations

import pathlib

import pytest

from opwright.errors import SourceError
from opwright.sources import scan
from opwright.sources.matching import match

HEAD = "template <class T> void f(Tensor<const T, 1> x, {}, Tensor<T, 1> y)"


def roles(signature: str, function: str, file: str = "op.cpp") -> list[tuple[str, str]]:
    (kernel,) = scan(pathlib.Path(file), f'OPWRIGHT("{signature}")\n{function} {{}}\n').kernels
    return [(argument.parameter.name, argument.role) for argument in match(kernel)]


def refusal(signature: str, function: str, file: str = "op.cpp") -> list[str]:
    with pytest.raises(SourceError) as caught:
        roles(signature, function, file)
    first, *_, last = str(caught.value).splitlines()
    return [first.partition(": f: ")[2], last.strip()]


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        ("mean | sum", "Mode mode"),
        ("mean | sum", "detail::Mode m"),
        ("int?", "std::optional<int64_t> k"),
        ("int?", "optional<int> k"),
        ("int?", "opwright::Optional<std::int64_t> k"),
        ("float?", "std::optional<float> p"),
        ("bool?", "Optional<bool> b"),
        ("str", "std::string_view s"),
        ("str", "std::string s"),
        ("str?", "std::optional<std::string_view> s"),
    ],
)
def test_what_fits(kind: str, declared: str) -> None:
    name = declared.rpartition(" ")[2]
    assert roles(f"f(x: T[N], a: {kind}) -> (y: T[N])", HEAD.format(declared)) == [
        ("x", "input"),
        (name, "scalar"),
        ("y", "output"),
    ]


@pytest.mark.parametrize(
    ("kind", "declared", "expected", "why"),
    [
        ("int?", "int64_t a", "std::optional<int64_t> a", "a scalar `a: int?` is one of Optional<"),
        ("int", "std::optional<int64_t> a", "int64_t a", "a scalar `a: int` is one of int"),
        ("float?", "std::optional<int64_t> a", "std::optional<double> a", "a scalar `a: float?` is one of"),
        ("str", "const char *a", "std::string_view a", "a scalar `a: str` is one of std::string, std::string_view"),
        ("str", "const std::string &a", "std::string_view a", "a scalar `a: str` is one of"),
    ],
)
def test_what_does_not(kind: str, declared: str, expected: str, why: str) -> None:
    first, last = refusal(f"f(x: T[N], a: {kind}) -> (y: T[N])", HEAD.format(declared))
    assert first.startswith(f"parameter 2 is `{declared}`, expected `{expected}` for the scalar `a: {kind}`: {why}")
    assert last == f"likely fix: declare parameter 2 as `{expected}`"


@pytest.mark.parametrize("declared", ["int mode", "std::string_view mode", "const Mode &mode", "bool mode"])
def test_a_choice_is_an_enum(declared: str) -> None:
    first, last = refusal("f(x: T[N], mode: mean | 'tanh-approx') -> (y: T[N])", HEAD.format(declared))
    assert first == (
        f"parameter 2 is `{declared}`, expected `Mode mode` for the scalar `mode: mean | 'tanh-approx'`: mode is an "
        "enum whose enumerators have the names of the choices"
    )
    assert last == "likely fix: declare parameter 2 as `Mode mode`, after `enum class Mode { mean, tanh_approx };`"


@pytest.mark.parametrize(
    "template",
    ["class T, Mode mode, bool fast", "Mode mode, bool fast, class T", "bool fast = true, typename T, Mode mode"],
)
def test_templates_over_choices_and_bools(template: str) -> None:
    signature = "f(x: T[N], mode: mean | sum, fast: bool, k: int) -> (y: T[N])"
    function = f"template <{template}> void f(Tensor<const T, 1> x, int64_t k, Tensor<T, 1> y)"
    assert roles(signature, function) == [("x", "input"), ("k", "scalar"), ("y", "output")]


def test_a_template_over_an_int_is_refused() -> None:
    first, _ = refusal(
        "f(x: T[N], k: int) -> (y: T[N])", "template <class T, int k> void f(Tensor<const T> x, Tensor<T> y)"
    )
    assert first == "the function's template parameters are <T, int k>, the signature's type variables: T"


@pytest.mark.parametrize(
    ("file", "signature", "function", "where"),
    [
        (
            "op.cpp",
            "f(x: T, s: str) -> (y: T)",
            "template <class T> T f(T x, std::string_view s)",
            "a function of one element",
        ),
        (
            "op.cu",
            "f(x: T[N], s: str) -> (y: T[N]) launch over N, threads 32",
            "template <class T> __global__ void f(Tensor<const T, 1> x, std::string_view s, Tensor<T, 1> y)",
            "a `__global__` kernel",
        ),
    ],
)
def test_strings_are_of_the_host(file: str, signature: str, function: str, where: str) -> None:
    first, last = refusal(signature, function, file)
    assert first == f"s is a str, which {where} can't take"
    other = "a kernel over views" if file == "op.cpp" else "a host function"
    assert last == f"likely fix: name what it can be, `s: mean | sum`, an enum in C++; or take it in {other}"
    first, last = refusal(signature.replace("str", "list[float]"), function, file)
    assert first == f"s is a list of floats, which {where} can't take"
    assert last == f"likely fix: give it a length, `s: list[float, 2]`; or take it in {other}"


def test_c_functions() -> None:
    signature = "f(x: f32[N], mode: mean | sum, s: str) -> (y: f32[N])"
    assert len(roles(signature, "void f(const float *x, int64_t N, int mode, const char *s, float *y)", "op.c")) == 5
    first, _ = refusal(signature, "void f(const float *x, int64_t N, int mode, char *s, float *y)", "op.c")
    assert first == "parameter 4 is `char *s`, expected `const char *s` for the scalar `s: str`: it is a const char *"
    first, _ = refusal(
        "f(x: f32[N], k: int?) -> (y: f32[N])", "void f(const float *x, int64_t N, int64_t k, float *y)", "op.c"
    )
    assert first == (
        "parameter 3 is `int64_t k`, expected `std::optional<int64_t> k` for the scalar `k: int?`: "
        "it is std::optional<int64_t>, which C doesn't have: write the kernel in C++ (.cpp)"
    )
