"""What a body may be made of: what converts, what doesn't, whose functions are called, and parts of one's own."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain.compilers.flags import header_dir

Compile = Callable[..., ctypes.CDLL]
_HEADERS = {
    "alone": "",
    "cmath": "#include <cmath>\n#include <cstdlib>\n",
    "std": "#include <cmath>\n#include <complex>\n#include <algorithm>\nusing namespace std;\n",
}
_BODY = """
template <class T> T helper(T x) { return x * x; }
template <class T> void body(T x, T y, double alpha, int k, bool flag, T &z, T &w) {
  T sum = 0;
  for (int i = 0; i < k; ++i) sum += helper(x) / (i + 1);
  if (sum > 1 && flag) sum -= 0.5 * y;
  else sum = -sum;
  z = sum > 0 ? max(sum, x) : 0.1 * sum;
  w = T(1) + alpha * abs(y) - min(x, 3) * pow(y, 2) + fmin(round(x), clamp(y, -1, 1)) + int(floor(x));
  w *= 2, w /= 4, ++w;
  if (!(x == y) || isnan(x)) w = w + exp(-hypot(x, 1)) + (x != 0 ? 1 / x : 0) + fma(x, 2, y) + where(flag, x, 1);
}
"""


def run(library: ctypes.CDLL, *arguments: float, results: int) -> list[float]:
    out = (ctypes.c_double * results)()
    library.run((ctypes.c_double * len(arguments))(*arguments), out)
    return list(out)


@pytest.mark.slow
@pytest.mark.parametrize("headers", _HEADERS)
def test_a_body_with_branches_loops_helpers_and_two_outputs(compile_text: Compile, headers: str) -> None:
    """Against differences of the body run on plain numbers."""
    text = f"""{_HEADERS[headers]}
#include <opwright.h>
#include <opwright/dual.h>
{_BODY}
extern "C" void run(const double *in, double *out) {{
  using D = Dual<double, 2>;
  D x = in[0], y = in[1], z, w;
  x.partial[0] = 1, y.partial[1] = 1;
  body(x, y, 0.7, 3, true, z, w);
  const double h = 1e-6;
  for (int i = 0; i < 2; ++i) {{
    double up[2], down[2];
    body(in[0] + (i == 0) * h, in[1] + (i == 1) * h, 0.7, 3, true, up[0], up[1]);
    body(in[0] - (i == 0) * h, in[1] - (i == 1) * h, 0.7, 3, true, down[0], down[1]);
    out[2 * i] = z.partial[i] - (up[0] - down[0]) / (2 * h);
    out[2 * i + 1] = w.partial[i] - (up[1] - down[1]) / (2 * h);
  }}
  double plain[2];
  body(in[0], in[1], 0.7, 3, true, plain[0], plain[1]);
  out[4] = value_of(z) - plain[0], out[5] = value_of(w) - plain[1];
}}"""
    library = compile_text(text)
    for x in (0.3, 1.7, -2.2):
        for y in (0.4, -1.3, 2.6):
            assert run(library, x, y, results=6) == pytest.approx([0] * 6, abs=1e-8)


def test_numbers_keep_the_precision_of_the_type_at_the_bottom(compile_text: Compile) -> None:
    text = """
#include <opwright.h>
#include <opwright/dual.h>
using F = Dual<Dual<float, 1>, 2>;
static_assert(__is_same(decltype(0.1 * F(1)), F) && __is_same(decltype(F(1) / 3L), F), "a dual number");
static_assert(__is_same(decltype(pow(F(1), 0.1)), F) && __is_same(decltype(max(0.1, F(1))), F), "a dual number");
static_assert(__is_same(decltype(value_of(F(1))), float) && __is_same(decltype(F(1) > 0.1), bool), "plain");
static_assert(__is_same(decltype(gelu(F(1))), F) && __is_same(decltype(softplus(0.1f, 2, 3)), float), "as it came");
static_assert(__is_trivially_copyable(F), "raw memory");
template <class T> float body(T x) {
  return value_of(0.1 * x + 0.7 + x / 0.3 + pow(x, 1.1) + (x > 0.1 ? 2 : 1) * half(1));
}
extern "C" void run(const double *in, double *out) {
  const float x = in[0];
  out[0] = body(Dual<float, 0>(x)), out[1] = body(Dual<Dual<float, 3>, 2>(x));
  out[2] = 0.1f * x + 0.7f + x / 0.3f + pow(x, 1.1f) + (x > 0.1f ? 2 : 1);
  out[3] = Dual<float, 0>(0.1f) < 0.1 || Dual<float, 0>(0.1f) > 0.1; /* 0.1 is rounded to float first */
}"""
    first, nested, plain, differs = run(compile_text(text), 0.37, results=4)
    assert (first, nested, differs) == (plain, plain, 0)


def test_parts_with_derivatives_of_their_own(compile_text: Compile) -> None:
    text = """
#include <opwright.h>
#include <opwright/dual.h>
using I = Dual<double, 1>;
using D = Dual<I, 1>;
void put(const D &z, double *&out) {
  *out++ = z.value.value, *out++ = z.partial[0].value, *out++ = z.partial[0].partial[0], *out++ = z.value.partial[0];
}
extern "C" void run(const double *in, double *out) {
  D x(in[0]);
  x.value.partial[0] = 1, x.partial[0] = 1;
  put(stop_gradient(x * x) * x, out);
  put(custom_derivative(x, round(x), 1), out);
  put(custom_derivative(x, clamp(x, -1, 1), where(abs(x) < 2, 1 - x / 2, 0)), out);
  put(custom_derivative(3 * x, 7, x * x), out);
  put(straight_through(floor(x), x * x * x), out);
}"""
    x = 1.25
    expected = [
        *(x**3, x**2, 0, x**2),
        *(1, 1, 0, 1),
        *(1, 1 - x / 2, -0.5, 1 - x / 2),
        *(7, 3 * x**2, 6 * x, 3 * x**2),  # the chain rule through 3 * x
        *(1, 3 * x**2, 6 * x, 3 * x**2),
    ]
    assert run(compile_text(text), x, results=20) == pytest.approx(expected)
    plain = """
#include <opwright.h>
extern "C" void run(const double *in, double *out) {
  out[0] = custom_derivative(in[0], 2.0, 1), out[1] = stop_gradient(in[0]), out[2] = straight_through(4.0, in[0]);
}"""
    assert run(compile_text(plain), x, results=3) == [2, x, 4]


def test_functions_of_the_author_win_over_ours(compile_text: Compile) -> None:
    text = """
#include <opwright.h>
#include <opwright/dual.h>
template <class T> T gelu(T x) { return 2 * x; }
template <class T> T exp(T x) { return 3 * x; }
template <class T> T softplus(T x) { return 4 * x; }
template <class T> T pow(T x, T) { return 5 * x; }
template <class T> T lerp(T a, T, double) { return 6 * a; }
template <class T> bool isnan(T) { return true; }
template <class T> void body(T x, double *out) {
  const T all[] = {gelu(x), exp(x), softplus(x), pow(x, x), lerp(x, x, 0.5), T(isnan(x))};
  for (const T &each : all) *out++ = value_of(each);
}
extern "C" void run(const double *in, double *out) { body(Dual<double, 1>(in[0]), out), body(in[0], out + 6); }
"""
    assert run(compile_text(text), 1.0, results=12) == [2, 3, 4, 5, 6, 1] * 2


def errors(tmp_path: Path, body: str) -> str:
    source = tmp_path / "wrong.cpp"
    source.write_text(f"#include <cmath>\n#include <opwright.h>\n#include <opwright/dual.h>\n{body}\n")
    command = ["c++", "-std=c++17", "-fsyntax-only", f"-I{header_dir()}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0, "it compiles"
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        *("float y = x; (void)y;", "double y = 0; y = x;", "helper(x);", "std::exp(x);", "exp(x, 1);", "round(x, 2);"),
        *("pow(x, 1, 2);", 'T y = "text"; (void)y;'),
    ],
)
def test_what_would_lose_the_derivative_does_not_compile(tmp_path: Path, statement: str) -> None:
    body = f"float helper(float x) {{ return x; }}\nusing T = Dual<float, 1>;\nvoid body(T x) {{ {statement} }}"
    assert "error" in errors(tmp_path, body)


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["(void)float(x);", "static_cast<double>(x);", "(void)(half)x;"])
def test_a_cast_that_would_lose_the_derivative_says_so(tmp_path: Path, statement: str) -> None:
    said = errors(tmp_path, f"using T = Dual<float, 1>;\nvoid body(T x) {{ {statement} }}")
    assert "write T(x) for the number itself, value_of(x) for its value" in said


def test_a_slope_without_its_variable_says_what_is_wanted(tmp_path: Path) -> None:
    said = errors(tmp_path, "using T = Dual<float, 1>;\nvoid body(T x) { custom_derivative(round(x), 1); }")
    assert "custom_derivative(x, value, slope) wants the variable first" in said


def test_whole_numbers_may_be_asked_for(compile_text: Compile) -> None:
    text = """
#include <opwright.h>
#include <opwright/dual.h>
extern "C" void run(const double *in, double *out) {
  Dual<Dual<double, 1>, 1> x(in[0]);
  out[0] = int(x), out[1] = static_cast<int64_t>(x * 2), out[2] = x ? 1 : 0, out[3] = !x, out[4] = signbit(x);
}"""
    assert run(compile_text(text), -2.75, results=5) == [-2, -5, 1, 0, 1]
