"""Device functions against float64: PyTorch's, and the definition where PyTorch has none."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from .conftest import build_at

Reference = Callable[[Tensor], Tensor]
special = torch.special

UNARY: dict[str, tuple[Reference, float, float]] = {
    "rsqrtf": (torch.rsqrt, 0.01, 100),
    "rcbrtf": (lambda x: x.pow(-1 / 3), 0.01, 100),
    "sinpif": (lambda x: (torch.pi * x).sin(), -3, 3),
    "cospif": (lambda x: (torch.pi * x).cos(), -3, 3),
    "erfinvf": (torch.erfinv, -0.999, 0.999),
    "erfcinvf": (lambda x: torch.erfinv(1 - x), 0.01, 1.99),
    "erfcxf": (special.erfcx, -3, 60),
    "normcdff": (special.ndtr, -8, 8),
    "normcdfinvf": (special.ndtri, 0.001, 0.999),
    "cyl_bessel_i0f": (torch.i0, -40, 40),
    "cyl_bessel_i1f": (special.i1, -40, 40),
    "exp10f": (lambda x: 10**x, -3, 3),
    "__expf": (torch.exp, -10, 10),
    "__exp10f": (lambda x: 10**x, -3, 3),
    "__logf": (torch.log, 0.01, 100),
    "__log2f": (torch.log2, 0.01, 100),
    "__log10f": (torch.log10, 0.01, 100),
    "__sinf": (torch.sin, -3, 3),
    "__cosf": (torch.cos, -3, 3),
    "__tanf": (torch.tan, -1, 1),
    "tanhf": (torch.tanh, -12, 12),
    "__saturatef": (lambda x: x.clamp(0, 1), -2, 2),
    "__frsqrt_rn": (torch.rsqrt, 0.01, 100),
}
OTHERS = r"""
EXPORT int bits(unsigned x, unsigned y, int which) {
  switch (which) {
    case 0: return __popc(x);
    case 1: return __clz(x);
    case 2: return __ffs(x);
    case 3: return __brev(x);
    case 4: return __byte_perm(x, y, 0x0a46);
    case 5: return __umulhi(x, y);
    case 6: return __mulhi(x, y);
    case 7: return __funnelshift_l(x, y, 5);
    case 8: return __funnelshift_rc(x, y, 40);
    case 9: return __dp4a(int(x), int(y), 7);
    case 10: return __sad(x, y, 3);
    case 11: return __mul24(x, y);
    case 12: return __fns(x, 0, 3);
    case 13: return __hadd(int(x), int(y));
    case 14: return __clzll((long long)(((unsigned long long)x << 32 | y) >> 9));
    case 15: return __float_as_int(__uint_as_float(x));
    default: return int(__umul24(x, y));
  }
}
EXPORT float rounded(float a, float b, int which) {
  switch (which) {
    case 0: return __fadd_rd(a, b);
    case 1: return __fadd_ru(a, b);
    case 2: return __fadd_rz(a, b);
    case 3: return __fmul_rd(a, b);
    case 4: return __fmul_ru(a, b);
    case 5: return __fmul_rz(a, b);
    case 6: return __fdiv_rd(a, b);
    case 7: return __fdiv_ru(a, b);
    case 8: return __fdiv_rz(a, b);
    case 9: return __fmaf_rd(a, b, 0.1f);
    case 10: return __fmaf_ru(a, b, 0.1f);
    default: return __fmaf_rz(a, b, 0.1f);
  }
}
EXPORT float of_two(float a, float b, int which) {
  switch (which) {
    case 0: return __fdividef(a, b);
    case 1: return __powf(a, b);
    case 2: return fminf(a, b);
    case 3: return max(a, b);
    case 4: return norm3df(a, b, 2.0f);
    case 5: return rnorm4df(a, b, 1.0f, 2.0f);
    case 6: return rhypotf(a, b);
    case 7: { float s, c; sincosf(a, &s, &c); return s * b + c; }
    default: { float s, c; sincospif(a, &s, &c); return s * b + c; }
  }
}
EXPORT void extremes(const float *x, const float *y, float *z) {
  z[0] = fmaxf(*x, *y);
  z[1] = fminf(*x, *y);
  z[2] = float(fmax(double(*x), double(*y)));
  z[3] = float(fmin(double(*x), double(*y)));
  z[4] = max(*x, *y);
  z[5] = min(*x, *y);
}
EXPORT int of_integers(int a, unsigned b) { return max(a, 3) * 100 + int(min(b, 7u)) + (max(a, b) == b); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loops = (
        f"__global__ void k_{name}(const float *x, float *y, int n) {{"
        f" const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = {name}(x[i]); }}\n"
        f"EXPORT void at_{name}(const float *x, float *y, int n) {{ k_{name}<<<(n + 63) / 64, 64>>>(x, y, n); }}\n"
        for name in UNARY
    )
    found = build_at(tmp_path_factory.mktemp("math") / "math.cu", "".join(loops) + OTHERS)
    found.rounded.restype = found.of_two.restype = ctypes.c_float
    found.rounded.argtypes = found.of_two.argtypes = [ctypes.c_float, ctypes.c_float, ctypes.c_int]
    found.bits.restype = ctypes.c_uint
    found.bits.argtypes = [ctypes.c_uint, ctypes.c_uint, ctypes.c_int]
    return found


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(library: ctypes.CDLL, name: str) -> None:
    reference, low, high = UNARY[name]
    x = torch.linspace(low, high, 1001)
    y = torch.empty_like(x)
    getattr(library, f"at_{name}")(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), len(x))
    torch.testing.assert_close(y.double(), reference(x.double()), rtol=3e-7, atol=2e-7 if "pi" in name else 1e-7)


def test_tanh_of_every_size(library: ctypes.CDLL) -> None:
    bits = torch.arange(0, 0x7F800000 + 1, 4099, dtype=torch.int32)
    x = torch.cat([bits.view(torch.float32), -bits.view(torch.float32)])
    y = torch.empty_like(x)
    library.at_tanhf(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), len(x))
    exact = x.double().tanh()
    step = (torch.nextafter(exact.float().abs(), torch.tensor(2.0)) - exact.float().abs()).double()
    assert ((y - exact).abs() <= 1.5 * step).all()
    assert (torch.signbit(y) == torch.signbit(x)).all()


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (2.0, -1.0), (math.inf, 0.0), (math.nan, 3.0), (3.0, math.nan)])
def test_a_number_wins_over_nan(library: ctypes.CDLL, a: float, b: float) -> None:
    x, y, z = torch.tensor(a), torch.tensor(b), torch.empty(6)
    library.extremes(*(ctypes.c_void_p(t.data_ptr()) for t in (x, y, z)))
    assert z.tolist() == [torch.fmax(x, y).item(), torch.fmin(x, y).item()] * 3


def test_integer_intrinsics(library: ctypes.CDLL) -> None:
    generator = torch.Generator().manual_seed(1)
    pairs = torch.randint(0, 2**32, (50, 2), generator=generator).tolist()
    for x, y in [*pairs, [0, 0], [1, 0], [2**31, 3], [2**32 - 1] * 2]:
        for which, expected in enumerate(_expected_bits(x, y)):
            assert library.bits(x, y, which) == expected % 2**32, (which, x, y)


def _signed(x: int, bits: int = 32) -> int:
    x %= 1 << bits
    return x - (1 << bits) if x >> (bits - 1) else x


def _expected_bits(x: int, y: int) -> list[int]:
    text, both = f"{x:032b}", y << 32 | x
    a, b = _signed(x), _signed(y)
    bytes_of = [both >> 8 * i & 255 for i in range(8)]
    set_bits = [i for i in range(32) if x >> i & 1]
    return [
        text.count("1"),
        len(text) - len(text.lstrip("0")),
        text[::-1].find("1") + 1,
        int(text[::-1], 2),
        bytes_of[6] | bytes_of[4] << 8 | (255 if bytes_of[2] & 128 else 0) << 16 | bytes_of[0] << 24,
        x * y >> 32,
        a * b >> 32,
        (both << 5) >> 32,
        y,
        7 + sum(_signed(x >> 8 * i, 8) * _signed(y >> 8 * i, 8) for i in range(4)),
        abs(a - b) + 3,
        _signed(x, 24) * _signed(y, 24),
        set_bits[2] if len(set_bits) > 2 else 2**32 - 1,
        (a + b) >> 1,
        64 - ((x << 32 | y) >> 9).bit_length(),
        x,
        (x % 2**24) * (y % 2**24),
    ]


def _neighbours(exact: Fraction) -> tuple[float, float]:
    """The floats next to a number that no float is: below and above."""
    near = torch.tensor(float(exact), dtype=torch.float64).float()
    low = torch.nextafter(near, torch.tensor(-torch.inf)) if Fraction(near.item()) > exact else near
    return low.item(), torch.nextafter(low, torch.tensor(torch.inf)).item()


def test_rounding_in_every_direction(library: ctypes.CDLL) -> None:
    numbers = torch.randn(40, generator=torch.Generator().manual_seed(0)).tolist()
    tenth = Fraction(torch.tensor(0.1).item())
    for x, y in zip(numbers[::2], numbers[1::2], strict=True):
        a, b = Fraction(x), Fraction(y)
        for operation, exact in enumerate((a + b, a * b, a / b, a * b + tenth)):
            found = [library.rounded(x, y, 3 * operation + mode) for mode in range(3)]
            below, above = _neighbours(exact)
            if Fraction(below) == exact:
                above = below
            assert found == [below, above, above if exact < 0 else below], (operation, x, y)


def test_functions_of_several_numbers(library: ctypes.CDLL) -> None:
    a, b = 0.75, -1.25
    t = torch.tensor([a, b], dtype=torch.float64)
    expected = [a / b, a**b, b, a, (t.square().sum() + 4).sqrt(), (t.square().sum() + 5).rsqrt(), t.norm() ** -1]
    expected += [t[0].sin() * b + t[0].cos(), (torch.pi * t[0]).sin() * b + (torch.pi * t[0]).cos()]
    found = [library.of_two(a, b, which) for which in range(len(expected))]
    torch.testing.assert_close(torch.tensor(found), torch.tensor([float(x) for x in expected]), rtol=1e-6, atol=1e-6)
    assert library.of_integers(-5, ctypes.c_uint(9)) == 300 + 7 + 0  # -5 is a large unsigned number beside 9


def test_special_values_are_cudas(library: ctypes.CDLL) -> None:
    nan, inf = float("nan"), float("inf")
    assert library.of_two(1.0, 2.0**127, 0) == 0  # __fdividef beyond 2^126
    assert math.isnan(library.of_two(inf, 2.0**127, 0))
    assert math.isnan(library.of_two(-2.0, 2.0, 1))  # __powf goes through the logarithm
    assert library.of_two(nan, 1.0, 2) == 1
    assert library.of_two(1.0, nan, 3) == 1
