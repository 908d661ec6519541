"""Unqualified math functions: the right overload, whatever else is included, and the right number."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

_UNARY = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "tgamma", "floor", "ceil"),
    *("trunc", "round", "rint", "fabs", "abs", "rsqrt", "sigmoid", "relu", "elu"),
]
_BINARY = ["pow", "fmod", "atan2", "hypot", "fmin", "fmax", "copysign", "min", "max"]
_ORDERS = {
    "alone": "#include <opwright.h>\n",
    "cmath before": "#include <cmath>\n#include <cstdlib>\n#include <opwright.h>\n",
    "cmath after": "#include <opwright.h>\n#include <cmath>\n#include <cstdlib>\n",
    "math.h before": "#include <math.h>\n#include <stdlib.h>\n#include <opwright.h>\n",
    "math.h after": "#include <opwright.h>\n#include <math.h>\n#include <stdlib.h>\n",
    "std before": "#include <cmath>\n#include <algorithm>\nusing namespace std;\n#include <opwright.h>\n",
    "std after": "#include <opwright.h>\n#include <cmath>\n#include <algorithm>\nusing namespace std;\n",
}
Compile = Callable[..., ctypes.CDLL]


def checks() -> str:
    """Static assertions that a result has its argument's type, halves being computed as float."""
    lines = ["namespace checks { template <class T> struct plain { using type = T; };"]
    lines += ["template <class T> struct plain<const T &> { using type = T; }; }  // what std::min returns"]
    lines += ["#define IS(T, expr) static_assert(__is_same(T, checks::plain<decltype(expr)>::type), #expr)"]
    lines += ["double d; float f; half h; bfloat16 b;"]
    for name in _UNARY:
        lines += [f"IS(float, {name}(f)); IS(double, {name}(d)); IS(float, {name}(h)); IS(float, {name}(b));"]
    for name in _BINARY:
        lines += [f"IS(float, {name}(f, f)); IS(double, {name}(d, d));"]
        if name not in {"min", "max"}:
            lines += [f"IS(double, {name}(f, d)); IS(double, {name}(d, f)); IS(float, {name}(h, f));"]
    lines += ["IS(int, abs(-1)); IS(long, abs(-1L)); IS(int, abs(short(-1)));"]
    lines += ["IS(bool, isnan(f)); IS(bool, isinf(d)); IS(bool, isfinite(h));\n"]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("order", _ORDERS)
def test_the_right_overload(compile_text: Compile, order: str) -> None:
    values = """
extern "C" double value(int i) {
  volatile float x = -0.5f;
  const half zero = 0;
  const double values[] = {abs(x), fabs(-0.25f), exp(0.1f), min(2.0f, 1.5f), double(max(-3, 2)), double(abs(-7L)),
                           double(isnan(zero / zero)), pow(2.0f, 0.5f), rint(-2.5f), -INFINITY, NAN};
  return values[i];
}
"""
    library = compile_text(_ORDERS[order] + checks() + values, "-Wno-unused-variable")
    library.value.restype = ctypes.c_double
    exp, root = (float(np.exp(np.float32(0.1))), float(np.sqrt(np.float32(2.0))))
    expected = [0.5, 0.25, exp, 1.5, 2, 7, 1, root, -2, -math.inf, math.nan]
    found = [library.value(i) for i in range(len(expected))]
    assert found == pytest.approx(expected, rel=1e-7, abs=0, nan_ok=True)


_REFERENCES: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in _UNARY if hasattr(np, name)},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: np.vectorize(getattr(math, name)) for name in ("erf", "erfc", "lgamma")},
    "tgamma": np.vectorize(math.gamma),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_right_numbers(compile_text: Compile, dtype: Any) -> None:
    ctype = "float" if dtype is np.float32 else "double"
    text = "#include <opwright.h>\n" + "\n".join(
        f'extern "C" void c_{name}(const {ctype} *x, {ctype} *y, long n) {{\n'
        f"  for (long i = 0; i < n; ++i) y[i] = {name}(x[i]);\n}}"
        for name in _UNARY
    )
    library = compile_text(text, "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math")
    rng = np.random.default_rng(0)
    assert _REFERENCES.keys() == set(_UNARY)
    for name, reference in _REFERENCES.items():
        positive = name in {"log", "log2", "log10", "sqrt", "rsqrt", "lgamma", "tgamma"}
        low, high = (0.01, 20) if positive else (1, 9) if name == "acosh" else (-0.99, 0.99)
        x = rng.uniform(low, high, 1001).astype(dtype)
        y = np.empty_like(x)
        library[f"c_{name}"](*(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), ctypes.c_long(x.size))
        expected = reference(x.astype(np.float64))
        tolerance = 8 * np.finfo(dtype).eps
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance, err_msg=name)


def test_nan_and_infinity(compile_text: Compile) -> None:
    text = """#include <opwright.h>
extern "C" void run(const float *x, const float *y, float *out) {
  out[0] = min(x[0], y[0]), out[1] = max(x[0], y[0]), out[2] = relu(x[0]), out[3] = fmin(x[0], y[0]);
  out[4] = sigmoid(y[0]);
  out[5] = isnan(x[0]), out[6] = isinf(y[0]), out[7] = isfinite(y[0]), out[8] = copysign(2.0f, -0.0f);
}"""
    library = compile_text(text)
    for x in (torch.nan, 1.0):
        for y in (torch.nan, -torch.inf, 3.0, torch.inf):
            a, b, out = torch.tensor([x]), torch.tensor([y]), torch.empty(9)
            library.run(*(ctypes.c_void_p(t.data_ptr()) for t in (a, b, out)))
            expected = [torch.minimum(a, b), torch.maximum(a, b), a.relu(), torch.fmin(a, b), b.sigmoid()]
            expected += [a.isnan(), b.isinf(), b.isfinite(), torch.tensor([-2.0])]
            torch.testing.assert_close(out, torch.cat([t.float() for t in expected]), equal_nan=True)
