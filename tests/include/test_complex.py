"""Functions of complex numbers: their error against 60 digits, and their derivatives against numerical ones."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable
from typing import Any

import mpmath  # type: ignore[import-untyped]
import pytest

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log": mpmath.log,
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "log1p": lambda z: mpmath.log(1 + z),
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "square": lambda z: z * z,
    "reciprocal": lambda z: 1 / z,
}
_BODY = """
#include <opwright.h>
#include <opwright/dual.h>
using D = Dual<double, 2>;
template <class T> T sinh_abs(const T &z) { return z * abs(z) + conj(z) / arg(z) + pow(z, T(2, -1)) + pow(z, -3); }
extern "C" void every(int which, int n, const double *x, double *y, double *slopes) {
  for (int i = 0; i < n; ++i) {
    const complex128 z(x[2 * i], x[2 * i + 1]);
    complex128 w;
    Complex<D> d(D(z.re), D(z.im)), v;
    d.re.partial[0] = 1, d.im.partial[1] = 1;
    switch (which) {
      CASES
      default: w = sinh_abs(z), v = sinh_abs(d);
    }
    y[2 * i] = w.re, y[2 * i + 1] = w.im;
    for (int k = 0; k < 2; ++k) slopes[4 * i + k] = v.re.partial[k], slopes[4 * i + 2 + k] = v.im.partial[k];
  }
}
extern "C" void narrow(int which, int n, const float *x, float *y) {
  for (int i = 0; i < n; ++i) {
    const complex64 z(x[2 * i], x[2 * i + 1]);
    complex64 w;
    switch (which) {
      NARROW
      default: w = sinh_abs(z);
    }
    y[2 * i] = w.re, y[2 * i + 1] = w.im;
  }
}
"""
NAMES = [*FUNCTIONS, "own"]


@pytest.fixture(scope="module")
def library(compile_once: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    wide = "\n".join(f"case {k}: w = {n}(z), v = {n}(d); break;" for k, n in enumerate(FUNCTIONS))
    narrow = "\n".join(f"case {k}: w = {n}(z); break;" for k, n in enumerate(FUNCTIONS))
    return compile_once(_BODY.replace("CASES", wide).replace("NARROW", narrow))


def drawn(count: int) -> list[complex]:
    generator = random.Random(0)

    def one(wide: bool) -> float:
        return generator.choice((-1, 1)) * 10 ** generator.uniform(-12, 2) if wide else generator.gauss(0, 1)

    near_one = [complex(math.cos(k + 0.5), math.sin(k + 0.5)) * (1 + 10.0 ** -(k % 15)) for k in range(count // 4)]
    return near_one + [complex(one(k % 2 == 0), one(k % 2 == 0)) for k in range(count - len(near_one))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(library: ctypes.CDLL, name: str) -> None:
    """At most 4 units in the last place of the magnitude; complex64 is rounded from double."""
    points = drawn(200)
    number, size = NAMES.index(name), 2 * len(points)
    flat = [part for z in points for part in (z.real, z.imag)]
    x, y, slopes = (ctypes.c_double * size)(*flat), (ctypes.c_double * size)(), (ctypes.c_double * (2 * size))()
    library.every(number, len(points), x, y, slopes)
    x32, y32 = (ctypes.c_float * size)(*flat), (ctypes.c_float * size)()
    library.narrow(number, len(points), x32, y32)
    with mpmath.workprec(200):
        for given, got, eps, most in ((x, y, 2**-52, 4.0), (x32, y32, 2**-23, 1.0)):
            for i in range(0, size, 2):
                expected = FUNCTIONS[name](mpmath.mpc(given[i], given[i + 1]))
                if eps == 2**-23 and not 1e-37 < abs(expected) < 1e38:
                    continue
                error = abs(mpmath.mpc(got[i], got[i + 1]) - expected) / abs(expected) / eps
                assert error <= most, (given[i], given[i + 1], got[i], got[i + 1])


def own(z: Any) -> Any:
    return z * abs(z) + mpmath.conj(z) / mpmath.arg(z) + z ** mpmath.mpc(2, -1) + z**-3


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(library: ctypes.CDLL, name: str) -> None:
    """The four real derivatives of the parts, against central differences with 60 digits."""
    points = [complex(0.3, 0.7), complex(-1.2, 0.4), complex(0.9, -1.6), complex(-0.2, -0.3)]
    flat = (ctypes.c_double * 8)(*(part for z in points for part in (z.real, z.imag)))
    y, slopes = (ctypes.c_double * 8)(), (ctypes.c_double * 16)()
    library.every(NAMES.index(name), 4, flat, y, slopes)
    function = FUNCTIONS.get(name, own)
    with mpmath.workprec(200):
        h = mpmath.mpf(2) ** -60
        for i, z in enumerate(points):
            for k, step in enumerate((mpmath.mpc(h, 0), mpmath.mpc(0, h))):
                expected = (function(mpmath.mpc(z) + step) - function(mpmath.mpc(z) - step)) / (2 * h)
                got = mpmath.mpc(slopes[4 * i + k], slopes[4 * i + 2 + k])
                assert abs(got - expected) <= 1e-13 * (1 + abs(expected)), (z, k, got, expected)


SPECIAL = """
#include <opwright.h>
extern "C" int special() {
  const double inf = 1e308 * 10, large = 1e308;
  const complex128 root = sqrt(complex128(large, large)), far = exp(complex128(709.5, 1)), i(0, 1);
  return (abs(complex128(large, large)) < inf) + 2 * (root.re > 1e154 && root.re < 2e154) + 4 * (far.re < inf) +
         8 * (sqrt(complex128(-4, 0.0)) == 2 * i && sqrt(complex128(-4, -0.0)) == -2 * i) +
         16 * (log(complex128(-1, -0.0)).im < 0 && log(complex128(-1, 0.0)).im > 0) +
         32 * (exp(complex128(-inf, 3)) == 0) +
         64 * (tanh(complex128(400, 3)) == 1) +
         128 * (pow(complex128(0, 0), 0) == 1 && pow(complex128(0, 0), 2.0) == 0) +
         256 * (isnan(complex64(0, inf - inf)) && isinf(complex64(inf, 0)) && isfinite(complex64(1, 2))) +
         512 * (2 / (1 + i) == 1 - i && 1 - i == conj(1 + i) && real(i) + imag(i) == 1 && half(2) * i == i + i) +
         1024 * (complex64(0.1, 0) * 3.0 == complex64(0.1f * 3.0f, 0) &&
                 complex128(complex64(1, 2)) == complex64(1, 2)) +
         2048 * (abs(polar(2.0, 0.5) - complex128(1.7551651237807455, 0.95885107720840601)) < 1e-15 &&
                 conj(2.5f) == 2.5f);
}
"""


def test_special_values(compile_once: Callable[..., ctypes.CDLL]) -> None:
    assert compile_once(SPECIAL).special() == 4095
