from __future__ import annotations

import pathlib

import pytest

from opwright.errors import SourceError
from opwright.sources import Kernel, is_status, returned_output, scan
from opwright.sources.matching import match
from opwright.sources.ops import read_ops
from opwright.sources.prototypes import Declarations

SAXPY = "saxpy(alpha: float, x: f32[N], y: f32[N]!)"


def kernel(signature: str, function: str) -> Kernel:
    (only,) = scan(pathlib.Path("op.c"), f'OPWRIGHT("{signature}")\n{function} {{}}\n').kernels
    return only


def roles(signature: str, function: str) -> list[tuple[str, str]]:
    arguments = match(kernel(signature, function))
    assert [a.parameter for a in arguments] == list(kernel(signature, function).function.parameters)
    return [(a.role, a.name) for a in arguments]


def refusal(signature: str, function: str) -> str:
    with pytest.raises(SourceError) as caught:
        match(kernel(signature, function))
    return str(caught.value)


def test_the_example_of_the_design() -> None:
    found = roles(SAXPY, "void saxpy(int64_t N, float alpha, const float *x, float *y)")
    assert found == [("axis", "N"), ("scalar", "alpha"), ("input", "x"), ("input", "y")]


@pytest.mark.parametrize(
    ("signature", "function", "expected"),
    [
        (
            "f(x: f64[M, 2*K], k: int, b: bool) -> (y: i64[K]; r: u8[M])",
            "void g(unsigned char r[], long long *y, const double *x, size_t K, int M, _Bool b, long k)",
            ["residual r", "output y", "input x", "axis K", "axis M", "scalar b", "scalar k"],
        ),
        ("f(x: f16[N]?)", "void f(const _Float16 *x, unsigned N)", ["input x", "axis N"]),
        ("f(x: i32[N, 3])", "void f(int32_t N, const int *restrict x)", ["axis N", "input x"]),
    ],
)
def test_the_order_is_the_function_s_own(signature: str, function: str, expected: list[str]) -> None:
    assert [" ".join(pair) for pair in roles(signature, function)] == expected


def test_the_whole_text_of_a_mismatch() -> None:
    assert refusal(SAXPY, "void saxpy(int64_t N, float alpha,\n const float *x, float *z, float *y)") == (
        "op.c:2: saxpy: parameter 4 is `float *z`, but the signature has no argument or axis of that name; "
        "it has N, alpha, x, y\n"
        "  signature:  saxpy(alpha: float, x: f32[N], y: f32[N]!)  (op.c:1)\n"
        "  function:   void saxpy(int64_t N, float alpha, const float *x, float *z, float *y)  (op.c:2)\n"
        "  likely fix: give it the name of an argument or an axis, or remove it"
    )


@pytest.mark.parametrize(
    ("signature", "function", "problem"),
    [
        (SAXPY, "void saxpy(float alpha, const float *x, float *y)", "the function has no parameter named N"),
        (SAXPY, "void saxpy(int N)", "the function has no parameter named alpha, x, y"),
        (SAXPY, "void saxpy(int N, int alpha, const float *x, float *y)", "parameter 2 is `int alpha`, expected `doub"),
        (SAXPY, "void saxpy(float N, float alpha, const float *x, float *y)", "expected `int64_t N` for the axis N"),
        (SAXPY, "void saxpy(int *N, float alpha, const float *x, float *y)", "expected `int64_t N` for the axis N"),
        (SAXPY, "void saxpy(int N, float alpha, float *x, float *y)", "expected `const float *x` for the input `x: f3"),
        (SAXPY, "void saxpy(int N, float alpha, const float *x, const float *y)", "expected `float *y` for the input"),
        (SAXPY, "void saxpy(int N, float alpha, const double *x, float *y)", "its elements are f32"),
        (SAXPY, "void saxpy(int N, float alpha, float x, float *y)", "a tensor is a pointer to its elements"),
        (SAXPY, "float saxpy(int N, float alpha, const float *x, float *y)", "returns `float`, which no output takes"),
        (SAXPY, "struct s saxpy(int N, float alpha, const float *x, float *y)", "returns `struct s`, which no output"),
        (SAXPY, "void saxpy(int N, float alpha, const float *x, float *y, ...)", "a function with a variable number "),
        (SAXPY, "void saxpy(int N, float alpha, const float *x, float **y)", "a tensor is a pointer to its elements"),
        (SAXPY, "void saxpy(int N, float alpha, const float *x, float (*y)(int))", "a tensor is a pointer to its elem"),
        (SAXPY, "void saxpy(struct s N, float alpha, const float *x, float *y)", "it is an integer"),
        (SAXPY, "void saxpy(int N, long double alpha, const float *x, float *y)", "it is a double or a float"),
        ("dot(x: f32[N]) -> (s: f32[])", "double dot(int N, const float *x)", "returns `double`, expected float for t"),
        ("dot(x: f32[N]) -> (s: f32[N])", "float dot(int N, const float *x)", "returns `float`, which no output takes"),
        ("f(x: f32[N]) -> (s: f32[], t: f32[])", "float f(int N, const float *x)", "t; it returns `float`, which s t"),
        ("f(x: f32[N]) -> (s: f32[])", "void f(int N, const float *x)", "the function has no parameter named s"),
        ("f(x: f32[N]) -> (y: f32[N])", "void f(int N, const float *, float *y)", "is `const float *` and has no name"),
        ("f(x: T[N])", "void f(const float *x, int N)", "C has no templates for the type variables T"),
        ("f(x: f32[...])", "void f(const float *x)", "`...` has no name that a C function could take it by"),
        ("f(x: f32[N]) -> (y: i64[?K<=N])", "void f(int N, const float *x, int64_t *y)", "can't be given the axis ?K<"),
        ("f(x: f32[N], rng: generator(1))", "void f(int N, const float *x)", "a C function can't be given a generator"),
        ("f(x: f32[N]) -> (y: f32[N])", "void f(int N, const float *x, const float *y)", "expected `float *y` for the"),
        ("f_backward_backward(grad_grad_x: f32[N], grad_y: f32[N]) -> (grad_grad_y: f32[N], grad_y: f32[N])",
         "void f(int N)", "grad_y is an input and an output"),
    ],
)  # fmt: skip
def test_what_does_not_fit(signature: str, function: str, problem: str) -> None:
    text = refusal(signature, function)
    assert text.startswith("op.c:2: ")
    assert problem in text.split("\n")[0]
    assert [line.split(":")[0] for line in text.split("\n")[1:]] == ["  signature", "  function", "  likely fix"]


@pytest.mark.parametrize(
    ("signature", "function", "taken", "status"),
    [
        ("dot(x: f32[N]) -> (s: f32[])", "float dot(int N, const float *x)", "s", False),
        ("dot(x: f32[N]) -> (y: f32[N], s: i32[])", "int dot(int N, const float *x, float *y)", "s", False),
        ("f(x: f32[N]) -> (y: f32[N])", "int f(int N, const float *x, float *y)", None, True),
        ("f(x: f32[N]) -> (y: f32[N])", "void f(int N, const float *x, float *y)", None, False),
        (
            "count(x: f32[N]) -> (n: u64[])",
            "static inline unsigned long int count(size_t N, const float *x)",
            "n",
            False,
        ),
    ],
)
def test_what_a_function_returns(signature: str, function: str, taken: str | None, status: bool) -> None:
    found = kernel(signature, function)
    match(found)
    output = returned_output(found)
    assert (output.name if output else None, is_status(found)) == (taken, status)


@pytest.mark.parametrize(
    ("signature", "function"),
    [
        ("f(k: int, x: f32[N])", "void f(unsigned char k, int N, const float *x)"),
        ("f(k: int, x: f32[N])", "void f(enum mode k, unsigned short N, const float *x)"),
        ("f(k: int, x: f32[N])", "void f(long unsigned int k, int N, const void *x)"),
        ("f(k: bool, x: u8[N])", "void f(int k, int N, const char *x)"),
        ("f(k: bool, x: i64[N])", "void f(int k, int N, const long long int *x)"),
        ("f(k: float, x: u16[N])", "void f(float k, int N, const short unsigned int x[static 1])"),
    ],
)
def test_every_type_that_can_hold_it(signature: str, function: str) -> None:
    assert len(match(kernel(signature, function))) == 3


@pytest.mark.parametrize(
    ("call", "function", "expected"),
    [
        ("f(N, a, grad_y, grad_x, grad_y)", "int N, float a, const float *g, float *x, float *y", "axis scalar in x y"),
        ("f(grad_y, grad_x, grad_y, N, a)", "float *y, float *x, const float *g, int N, float a", "y x in axis scalar"),
        ("f(N, a, grad_y, grad_y, grad_x)", "int N, float a, float *g, float *y, float *x", "axis scalar in y x"),
    ],
)
def test_a_name_of_an_input_and_of_an_output(call: str, function: str, expected: str) -> None:
    """What the function can't write is the input; where that doesn't tell, the first one is."""
    signature = "f(a: float, grad_y: f32[N]) -> (grad_x: f32[N], grad_y: f32[N])"
    (given,) = read_ops({call: signature.replace("f(", "f_backward(")})
    (declared,), _ = Declarations(f"void f({function});", "c").find("f")
    found = match(Kernel(given.signature, declared, 1, pathlib.Path("op.c"), "c", given))
    short = {("output", "grad_x"): "x", ("output", "grad_y"): "y", ("input", "grad_y"): "in"}
    assert " ".join(short.get((a.role, a.name), a.role) for a in found) == expected
