from __future__ import annotations

import pathlib

import pytest

from opwright.errors import SourceError
from opwright.signature import parse
from opwright.sources import Kernel, scan, template_variables
from opwright.sources.matching import match


def kernel(signature: str, function: str) -> Kernel:
    (only,) = scan(pathlib.Path("op.cpp"), f'OPWRIGHT("{signature}")\n{function} {{}}\n').kernels
    assert only.signature == parse(signature)
    return only


def roles(signature: str, function: str) -> list[tuple[str, str, str]]:
    return [(a.parameter.name, a.role, a.name) for a in match(kernel(signature, function))]


def refusal(signature: str, function: str) -> str:
    with pytest.raises(SourceError) as caught:
        match(kernel(signature, function))
    return str(caught.value)


def test_the_order_is_inputs_outputs_residuals_rng_stream() -> None:
    assert roles(
        "f(x: T[B, S], k: int, w: T[S]!, rng: generator(2), flag: bool) -> (y: acc(T)[B]; r: T[S])",
        "template <class T> void f(Tensor<const T, 2> a, int64_t b, Tensor<T, 1> c, bool d, "
        "Tensor<acc<T>, 1> e, Strided<T, 1> g, Generator h, Stream i)",
    ) == [
        ("a", "input", "x"),
        ("b", "scalar", "k"),
        ("c", "input", "w"),
        ("d", "scalar", "flag"),
        ("e", "output", "y"),
        ("g", "residual", "r"),
        ("h", "rng", "rng"),
        ("i", "stream", ""),
    ]


@pytest.mark.parametrize("stream", ["cudaStream_t s", "CUstream queue", "const cudaStream_t &on", "cudaStream_t"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_stream_is_known_by_its_type(stream: str, place: int) -> None:
    parameters = ["Tensor<const float> x", "Tensor<float> y"]
    parameters.insert(place, stream)
    found = [role for _, role, _ in roles("f(x: f32[N]) -> (y: f32[N])", f"void f({', '.join(parameters)})")]
    assert found == [*["input", "output"][:place], "stream", *["input", "output"][place:]]


@pytest.mark.parametrize("other", ["cudaStream_t *s", "cudaStream_t &s", "cudaEvent_t s"])
def test_what_is_no_stream(other: str) -> None:
    error = refusal("f(x: f32[N]) -> (y: f32[N])", f"void f(Tensor<const float> x, Tensor<float> y, {other})")
    assert "the function takes 3 parameters, expected 2: x (input), y (output); and any of the axes N, by name" in error


@pytest.mark.parametrize(
    ("signature", "function"),
    [
        ("f(x: T[...]) -> (y: T[...])", "template <class T> void f(Tensor<const T> x, Tensor<T> y)"),
        ("f(x: T[..., C])", "template <class T> void f(Tensor<const T> x)"),
        ("f(x: T[B, S])", "template <class T> void f(Tensor<const T> x)"),
        ("f(x: T[B, S])", "template <class T> void f(const Strided<const T, 2> &x)"),
        ("f(x: T[])", "template <class T> void f(Tensor<const T, 0> x)"),
        ("f(x: T[N, M]) batched", "template <class T> void f(Tensor<const T, 2> x)"),
        ("f(x: T[N]?)", "template <class T> void f(Tensor<const T, 1> x)"),
        ("f(x: T[N])", "template <class Real> void f(Tensor<const Real, 1> x)"),
        ("f(x: T[N], i: U[N])", "template <class U, class T> void f(Tensor<const T> x, Tensor<const U> i)"),
        ("f(x: T[N], i: U[N])", "template <class A, class B> void f(Tensor<const A> x, Tensor<const B> i)"),
        ("f(x: T[N]) -> (keep: i64[?K<=N])", "template <class T> void f(Tensor<const T> x, Resizable<int64_t, 1> k)"),
        *[
            (f"f(x: {name}[N])", f"void f(Tensor<const {spelled}, 1> x)")
            for name, spelled in [
                ("f32", "float"),
                ("f64", "double"),
                ("f16", "half"),
                ("f16", "opwright::half"),
                ("bf16", "bfloat16"),
                ("i64", "int64_t"),
                ("i64", "std::int64_t"),
                ("i32", "int"),
                ("i32", "int32_t"),
                ("u8", "uint8_t"),
                ("u8", "unsigned char"),
                ("bool", "bool"),
                ("c64", "complex64"),
            ]
        ],
        *[
            (f"f(x: f32[N], s: {kind})", f"void f(Tensor<const float> x, {spelled} s)")
            for kind, spelled in [
                ("float", "double"),
                ("float", "const float"),
                ("int", "int"),
                ("int", "std::int64_t"),
                ("int", "long long"),
                ("bool", "bool"),
            ]
        ],
    ],
)  # fmt: skip
def test_what_fits(signature: str, function: str) -> None:
    assert len(match(kernel(signature, function))) == len(kernel(signature, function).function.parameters)


def test_template_parameters_are_mapped_by_name_else_by_position() -> None:
    signature = "f(x: T[N], i: U[N])"
    by_name = kernel(signature, "template <class U, class T> void f(Tensor<const T> x, Tensor<const U> i)")
    assert template_variables(by_name) == ("U", "T")
    by_position = kernel(signature, "template <class A, class B> void f(Tensor<const A> x, Tensor<const B> i)")
    assert template_variables(by_position) == ("T", "U")
    assert template_variables(kernel("f(x: f32[N])", "void f(Tensor<const float> x)")) == ()


def test_the_whole_text_of_a_mismatch() -> None:
    assert refusal("f(x: T[B, S], y: T[B]) -> (z: T[B])", "\ntemplate <class Real>\nvoid f(Tensor<const Real, 2> x,\n"
                   "       Tensor<Real, 1> y, Tensor<Real, 1> z)") == (
        "op.cpp:4: f: parameter 2 is `Tensor<Real, 1> y`, expected `Tensor<const Real, 1> y` for the input `y: T[B]`: "
        "an input's elements are const (an input that the kernel overwrites is marked `!` in the signature)\n"
        "  signature:  f(x: T[B, S], y: T[B]) -> (z: T[B])  (op.cpp:1)\n"
        "  function:   template <class Real> void f(Tensor<const Real, 2> x, Tensor<Real, 1> y, Tensor<Real, 1> z)"
        "  (op.cpp:4)\n"
        "  likely fix: declare parameter 2 as `Tensor<const Real, 1> y`"
    )  # fmt: skip


T1 = "template <class T> "


def test_macros_in_a_head_are_told() -> None:
    text = """#define IN Tensor<T, 1>
#define OUT Tensor<T, 1>
#define OUT Strided<T, 1>
#define UNUSED 1
OPWRIGHT("f(x: T[N]) -> (y: T[N])")
template <class T> void f(IN x, OUT y) {}
"""
    with pytest.raises(SourceError) as error:
        match(scan(pathlib.Path("op.cpp"), text).kernels[0])
    assert str(error.value).splitlines()[2:] == [
        "  function:   template <class T> void f(Tensor<T, 1> x, OUT y)  (op.cpp:6)",
        "  macro:      IN is expanded here",
        "  macro:      OUT isn't expanded: it is defined in several ways",
        "  likely fix: declare parameter 1 as `Tensor<const T, 1> x`",
    ]


def test_the_elements_of_views_may_have_names_of_the_file() -> None:
    signature, head = "f(x: f64[N], k: float) -> (y: f64[N])", "void f(Tensor<const real, 1> x, real k, Tensor<real> y)"
    text = f'using real = double;\nOPWRIGHT("{signature}")\n{head} {{}}\n'
    (read,) = scan(pathlib.Path("op.cpp"), text).kernels
    assert [(a.role, a.name) for a in match(read)] == [("input", "x"), ("scalar", "k"), ("output", "y")]
    with pytest.raises(SourceError, match="its elements are f64"):
        match(scan(pathlib.Path("op.cpp"), text.replace("= double", "= float")).kernels[0])


@pytest.mark.parametrize(
    ("signature", "function", "problem"),
    [
        ("f(x: T[N]) -> (y: T[N])", T1 + "void f(Tensor<const T> x)",
         "the function takes 1 parameter, expected 2: x (input), y (output)"),
        ("f(x: T[N])", T1 + "void f(Tensor<const T> x, int64_t n)", "the function takes 2 parameters, expected 1: x ("),
        ("f(x: f32[N])", "void f(void)", "the function takes 0 parameters, expected 1: x (input)"),
        ("f(x: T[N], y: T[N])", T1 + "void f(Tensor<const T> y, Tensor<const T> x)",
         "parameter 1 is called y, expected x there"),
        ("f(x: T[N]) -> (y: T[N])", T1 + "void f(Tensor<const T> x, Tensor<const T> y)",
         "parameter 2 is `Tensor<const T> y`, expected `Tensor<T, 1> y` for the output `y: T[N]`: the kernel writes"),
        ("f(x: T[N]!)", T1 + "void f(Tensor<const T> x)", "parameter 1 is `Tensor<const T> x`, expected `Tensor<T, 1>"),
        ("f(x: T[N], a: float)", T1 + "void f(Tensor<const T> x, Tensor<const T> a)",
         "parameter 2 is `Tensor<const T> a`, expected `double a` for the scalar `a: float`"),
        ("f(x: T[N], a: float)", T1 + "void f(Tensor<const T> x, int a)", "parameter 2 is `int a`, expected `double a"),
        ("f(x: T[N], k: int)", T1 + "void f(Tensor<const T> x, float k)", "parameter 2 is `float k`, expected `int64_"),
        ("f(x: T[N], k: int)", T1 + "void f(Tensor<const T> x, size_t k)", "parameter 2 is `size_t k`, expected `int6"),
        ("f(x: T[N], b: bool)", T1 + "void f(Tensor<const T> x, int b)", "parameter 2 is `int b`, expected `bool b`"),
        ("f(x: T[N])", T1 + "void f(T x)", "parameter 1 is `T x`, expected `Tensor<const T, 1> x`"),
        ("f(x: f32[N])", "void f(const float *x)", "parameter 1 is `const float *x`, expected `Tensor<const float, 1>"),
        ("f(x: f32[N])", "void f(Tensor<const double> x)", "for the input `x: f32[N]`: its elements are f32"),
        ("f(x: f16[N])", "void f(Tensor<const float> x)", "expected `Tensor<const half, 1> x`"),
        ("f(x: T[N]) -> (y: acc(T)[N])", T1 + "void f(Tensor<const T> x, Tensor<T> y)", "expected `Tensor<acc<T>, 1>"),
        ("f(x: T[N]) -> (y: T[N])", T1 + "void f(Tensor<const T> x, Tensor<acc<T>> y)", "expected `Tensor<T, 1> y`"),
        ("f(x: T[N], y: U[N])", "template <class T, class U> void f(Tensor<const T> x, Tensor<const T> y)",
         "parameter 2 is `Tensor<const T> y`, expected `Tensor<const U, 1> y`"),
        ("f(x: T[B, S])", T1 + "void f(Tensor<const T, 1> x)", "for the input `x: T[B, S]`: its rank is 2"),
        ("f(x: T[...])", T1 + "void f(Tensor<const T, 1> x)", "`...` stands for any number of axes, so no rank"),
        ("f(x: T[...])", T1 + "void f(Strided<const T, 1> x)", "Strided needs a rank, and `...` stands for any number"),
        ("f(x: T[N])", T1 + "void f(Strided<const T> x)", "Strided needs its rank"),
        ("f(x: T[N])", T1 + "int f(Tensor<const T> x)", "the function returns `int`, expected `void`"),
        ("f(x: T[N])", "void f(Tensor<const float> x)", "the function is no template, but the signature has the type"),
        ("f(x: f32[N])", T1 + "void f(Tensor<const float> x)",
         "the function's template parameters are <T>, the signature's type variables: none"),
        ("f(x: T[N])", "template <class T, class U> void f(Tensor<const T> x)",
         "the function's template parameters are <T, U>, the signature's type variables: T"),
        ("f(x: T[N])", "template <int N> void f(Tensor<const T> x)",
         "the function's template parameters are <int N>, the signature's type variables: T"),
        ("f(x: T[N], rng: generator(1))", T1 + "void f(Tensor<const T> x, int64_t seed)", "expected `Generator rng`"),
    ],
)  # fmt: skip
def test_what_does_not_fit(signature: str, function: str, problem: str) -> None:
    text = refusal(signature, function)
    assert text.startswith("op.cpp:2: f: ")
    assert problem in text.split("\n")[0]
    assert [line.split(":")[0] for line in text.split("\n")[1:]] == ["  signature", "  function", "  likely fix"]


def test_parameters_with_an_axis_name_get_the_axis_wherever_they_stand() -> None:
    found = roles(
        "f(x: T[M, N], n: int, k: int) -> (y: T[n, M//2])",
        "template <class T> void f(int64_t M, Tensor<const T, 2> x, long n, int64_t a, int N, Tensor<T> y, Stream s)",
    )
    assert [(role, name) for _, role, name in found] == [
        ("axis", "M"), ("input", "x"), ("scalar", "n"), ("scalar", "k"), ("axis", "N"), ("output", "y"), ("stream", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "problem", "fix"),
    [
        ("Tensor<const float, 2> x, double N, Tensor<float, 1> y",
         "parameter 2 is `double N`, expected `int64_t N` for the axis N",
         "declare parameter 2 as `int64_t N`, or rename it if it isn't the axis N"),
        ("Tensor<const float, 2> x, int64_t &N, Tensor<float, 1> y",
         "parameter 2 is `int64_t &N`, expected `int64_t N`", "declare parameter 2"),
        ("Tensor<const float, 2> N, Tensor<float, 1> y",
         "parameter 1 is `Tensor<const float, 2> N`, expected `int64_t N`", "declare parameter 1"),
        ("Tensor<const float, 2> x, int64_t n, Tensor<float, 1> y",
         "the function takes 3 parameters, expected 2: x (input), y (output); and any of the axes M, N, by name",
         "did you mean the axis N? If so, declare `int64_t N`"),
        ("Tensor<const float, 2> x, int64_t K, Resizable<int64_t, 1> y", "the function takes 3 parameters",
         "leave out `int64_t K`: the kernel decides ?K"),
        ("Tensor<const float, 2> x, int64_t whole, Resizable<int64_t, 1> y", "the function takes 3 parameters",
         "void f(Tensor<const float, 2> x, Resizable<int64_t, 1> y)"),
    ],
)  # fmt: skip
def test_parameters_that_are_no_axis(function: str, problem: str, fix: str) -> None:
    result = "i64[?K]" if "Resizable" in function else "f32[M]"
    text = refusal(f"f(x: f32[M, N]) -> (y: {result})", f"void f({function})")
    assert f"f: {problem}" in text.split("\n")[0]
    assert text.split("\n")[-1].startswith(f"  likely fix: {fix}")


def test_a_backward_may_take_and_return_the_same_name() -> None:
    found = roles(
        "f_backward_backward(grad_grad_x: T[N], grad_y: T[N]) -> (grad_grad_y: T[N], grad_y: T[N])",
        "template <class T> void g(Tensor<const T> grad_grad_x, Tensor<const T> grad_y, Tensor<T> a, Tensor<T> b)",
    )
    assert found[-1] == ("b", "output", "grad_y")


def test_a_count_is_a_reference() -> None:
    signature = "f(x: T[N]) -> (n: int)"
    head = "template <class T> void f(Tensor<const T, 1> x, "
    assert roles(signature, f"{head}int64_t &n)")[-1] == ("n", "output", "n")
    for wrong in ("int64_t n", "const int64_t &n", "int &n", "Tensor<int64_t, 0> n", "int64_t *n"):
        text = refusal(signature, f"{head}{wrong})")
        assert f"parameter 2 is `{wrong}`, expected `int64_t &n` for the output `n: int`" in text
        assert "likely fix: declare parameter 2 as `int64_t &n`" in text


def test_an_optional_result_is_a_view() -> None:
    signature = "f(x: T[N], all: bool) -> (y: T[N]? if all)"
    head = "template <class T> void f(Tensor<const T, 1> x, bool all, "
    assert roles(signature, f"{head}Tensor<T, 1> y)")[-1] == ("y", "output", "y")
    assert "expected `Tensor<T, 1> y` for the output `y: T[N]? if all`" in refusal(signature, f"{head}T y)")


SUM = "f(x: T[*A, D, *B], dim: axis(D), keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B])"


def test_a_kernel_sees_a_group_as_one_axis_and_needs_no_parameter_for_what_decides_ranks() -> None:
    function = "template <class T> void f(Strided<const T, 3> x, bool keepdim, int B, Tensor<T, 2> y) {}"
    (kernel,) = scan(pathlib.Path("op.cpp"), f'OPWRIGHT("{SUM}")\n{function}\n').kernels
    assert [(argument.parameter.name, argument.role) for argument in match(kernel)] == [
        ("x", "input"),
        ("keepdim", "scalar"),
        ("B", "axis"),
        ("y", "output"),
    ]


@pytest.mark.parametrize(
    ("function", "problem", "fix"),
    [
        ("Tensor<const T, 4> x, Tensor<T, 2> y", "its rank is 3", "declare parameter 1 as `Tensor<const T, 3> x`"),
        (
            "Tensor<const T, 3> x, float dim, Tensor<T, 2> y",
            "parameter 2 is `float dim`, expected `int64_t dim` for the scalar `dim: axis(D)`",
            "declare parameter 2 as `int64_t dim`",
        ),
        (
            "Tensor<const T, 3> x, int64_t n, Tensor<T, 2> y",
            "the function takes 3 parameters, expected 2: x (input), y (output); and any of the axes A, D, B",
            "void f(Tensor<const T, 3> x, Tensor<T, 2> y)",
        ),
    ],
)
def test_what_does_not_fit_a_signature_with_groups(function: str, problem: str, fix: str) -> None:
    text = f'OPWRIGHT("{SUM}")\ntemplate <class T> void f({function}) {{}}\n'
    with pytest.raises(SourceError) as caught:
        match(scan(pathlib.Path("op.cpp"), text).kernels[0])
    assert problem in str(caught.value)
    assert str(caught.value).rpartition("likely fix: ")[2].startswith(fix)
