"""The text of the errors of C functions that don't fit their signatures."""

from __future__ import annotations

from pathlib import Path

import opwright
from opwright import (
    SourceError,
)
from tests.messages.raising import failing


def test_cpp_in_the_place_of_c(tmp_path: Path) -> None:
    function = "template <class T> void f(int n, const T *x, T *y)"
    signature = "f(x: f32[n]) -> (y: f32[n])"
    why = f"`{function}` is C++, and this is C; C++ is given in files `*.cpp`, or as `cpp=`"
    source = tmp_path / "no_c.c"
    source.write_text(f"{function} {{}}\n")
    assert failing(lambda: opwright.load(source, ops=signature), SourceError) == (
        f"{source}: f: the declaration can't be read: {why}\n  signature:  {signature}  (given in ops)"
    )
    source.write_text(f'OPWRIGHT("{signature}")\n{function} {{}}\n')
    expected = (
        f": f: what follows OPWRIGHT(...) can't be read as a function: {why}\n  expected `void name(...) {{ ... }}`"
    )
    assert failing(lambda: opwright.load(source), SourceError) == f"{source}:1{expected}"
    text = source.read_text()
    assert failing(lambda: opwright.load_inline("no_c", c=text), SourceError).endswith(f"no_c.c:1{expected}")
    source.write_text(f'OPWRIGHT("{signature}")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) {{}}\n')
    assert " is C++, and this is C; " in failing(lambda: opwright.load(source), SourceError)


def test_outputs_without_a_parameter(tmp_path: Path) -> None:
    source = tmp_path / "halves.c"
    source.write_text("double halves(double __x, int *__exponent) { *__exponent = 1; return __x / 2; }\n")
    signature = "halves(x: float) -> (exp: i32[], y: f64[])"
    assert failing(lambda: opwright.load(source, ops=signature), SourceError) == (
        f"{source}:1: halves: the function has no parameter named exp; it returns `double`, which y takes\n"
        f"  signature:  {signature}  (given in ops)\n"
        f"  function:   double halves(double __x, int *__exponent)  ({source}:1)\n"
        '  likely fix: name its parameters in order: "halves(x, exp)"'
    )
    exp, y = opwright.load(source, ops={"halves(x, exp)": signature}).halves(3.0)
    assert (exp.tolist(), y.tolist()) == (1, 1.5)
    with_axes = "halves(x: float, n: int) -> (y: f64[n])"
    assert failing(lambda: opwright.load(source, ops=with_axes), SourceError).startswith(
        f"{source}:1: halves: the function has no parameter named y; it returns `double`, which no output takes\n"
    )


def test_a_signature_that_does_not_fit_a_plain_c_function(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text(
        "void scale(long n, float alpha, const float *x, float *out) {}\n"
        "#define scale_all(x) x\nfloat norm(const float *x, int n) { return 0; }\nint check(float *, int);\n"
    )

    def load(ops: str | dict[str, str]) -> str:
        return failing(lambda: opwright.load(source, ops=ops), SourceError)

    scale = "scale(alpha: float, x: f32[N]) -> (out: f32[N])"
    shown = f"  function:   void scale(long n, float alpha, const float *x, float *out)  ({source}:1)\n"
    assert load(scale) == (
        f"{source}:1: scale: the function has no parameter named N\n  signature:  {scale}  (given in ops)\n{shown}"
        "  likely fix: did you mean n? use the function's names in the signature, or name its parameters in order: "
        '"scale(N, alpha, x, out)"'
    )
    assert load({"scale(N, x, alpha, out)": scale}) == (
        f"{source}:1: scale: parameter 2 is `float alpha`, expected `const float *x` for the input `x: f32[N]`: a "
        f"tensor is a pointer to its elements\n  signature:  {scale}  (given in ops)\n{shown}"
        "  likely fix: write what the function has into the signature, or call it from a function with `const float *x`"
    )
    assert load({"scale(N, alpha, x)": scale}) == (
        f"{source}:1: scale: ops calls it as scale(N, alpha, x), with 3 arguments; it has 4 parameters\n"
        f"  signature:  {scale}  (given in ops)\n{shown}"
        '  likely fix: name them all, in order: "scale(N, alpha, x, out)"'
    )
    assert load("norm(x: f32[n])  -> (y: f64[])") == (
        f"{source}:3: norm: the function returns `float`, expected double for the output `y: f64[]`, which has no "
        "parameter and so takes what it returns\n  signature:  norm(x: f32[n]) -> (y: f64[])  (given in ops)\n"
        f"  function:   float norm(const float *x, int n)  ({source}:3)\n"
        "  likely fix: declare it as an output without a parameter: -> (y: f32[])"
    )
    assert load("check(x: f32[n]!)") == (
        f"{source}:4: check: parameter 1 is `float *` and has no name\n"
        "  signature:  check(x: f32[n]!)  (given in ops)\n"
        f"  function:   int check(float *, int)  ({source}:4)\n"
        '  likely fix: name all of them in order: ops={"check(?, ?)": "..."}'
    )
    assert load("scales(x: f32[n]!)") == (
        f"{source}: scales: no function scales is declared in it\n  signature:  scales(x: f32[n]!)  (given in ops)\n"
        "  functions:  scale, norm, check\n"
        '  likely fix: did you mean scale? Give the function\'s name: ops={"scale": "scales(...)"}'
    )
    assert load("scale_all(x: f32[n]!)") == (
        f"{source}: scale_all: scale_all is a macro, not a function\n"
        "  signature:  scale_all(x: f32[n]!)  (given in ops)\n"
        '  likely fix: write a function that uses it, and give that one\'s name: ops={"my_scale_all": "scale_all(...)"}'
    )
