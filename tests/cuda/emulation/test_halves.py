"""__half and __nv_bfloat16 against PyTorch's, bit by bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import torch

from .conftest import build_at

DTYPES = {"half": torch.float16, "bfloat16": torch.bfloat16}
TYPES = {"half": "__half", "bfloat16": "__nv_bfloat16"}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "__hadd": lambda a, b: a + b,
    "__hsub": lambda a, b: a - b,
    "__hmul": lambda a, b: a * b,
    "__hdiv": lambda a, b: a / b,
    "__hmax": torch.maximum,
    "__hmin": torch.minimum,
}
UNARY = {
    "hexp": torch.exp,
    "hlog": torch.log,
    "hsqrt": torch.sqrt,
    "hrsqrt": torch.rsqrt,
    "hrcp": torch.reciprocal,
    "hsin": torch.sin,
    "htanh": torch.tanh,
    "hfloor": torch.floor,
    "hrint": torch.round,
    "__habs": torch.abs,
    "__hneg": torch.neg,
}


def _texts(n: str, h: str) -> str:
    cases = "".join(f"    case {i}: z[i] = {name}(x[i], y[i]); break;\n" for i, name in enumerate(BINARY))
    single = "".join(f"    case {i}: y[i] = {name}(x[i]); break;\n" for i, name in enumerate(UNARY))
    return f"""
__global__ void binary_{n}_k(const {h} *x, const {h} *y, {h} *z, int which) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (which) {{
{cases}    default: z[i] = __hfma(x[i], y[i], x[i]);
  }}
}}
EXPORT void binary_{n}(const {h} *x, const {h} *y, {h} *z, int n, int which) {{
  binary_{n}_k<<<n / 64, 64>>>(x, y, z, which);
}}
__global__ void unary_{n}_k(const {h} *x, {h} *y, int which) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (which) {{
{single}  }}
}}
EXPORT void unary_{n}(const {h} *x, {h} *y, int n, int which) {{ unary_{n}_k<<<n / 64, 64>>>(x, y, which); }}
EXPORT void of_float_{n}(const float *x, {h} *y, int n, int mode) {{
  for (int i = 0; i < n; ++i)
    y[i] = mode == 0   ? __float2{n}(x[i])
           : mode == 1 ? __float2{n}_rd(x[i])
           : mode == 2 ? __float2{n}_ru(x[i])
                       : __float2{n}_rz(x[i]);
}}
EXPORT void of_double_{n}(const double *x, {h} *y, int n) {{ for (int i = 0; i < n; ++i) y[i] = {h}(x[i]); }}
EXPORT void of_int_{n}(const int *x, {h} *y, int n) {{ for (int i = 0; i < n; ++i) y[i] = x[i]; }}
EXPORT void to_float_{n}(const {h} *x, float *y, int n) {{ for (int i = 0; i < n; ++i) y[i] = __{n}2float(x[i]); }}
"""


PAIRS = """
__global__ void pairs(const __half2 *x, __half2 *y) {
  const int i = threadIdx.x;
  const __half2 a = x[i], b = __lowhigh2highlow(a);
  y[i] = __hfma2(a, b, __hadd2(a, __float2half2_rn(1.0f))) - __hmul2(a, b);
}
EXPORT void pairs_of(const __half2 *x, __half2 *y, int n) { pairs<<<1, n>>>(x, y); }
EXPORT int comparisons(const __half *x) {
  const __half nan = __ushort_as_half(0x7fff);
  return __heq(x[0], x[0]) + 2 * __heq(nan, nan) + 4 * __hequ(nan, nan) + 8 * __hlt(x[0], x[1]) + 16 * (x[0] < x[1]) +
         32 * __hisnan(nan) + 64 * (__hisinf(__float2half(-1e9f)) == -1) +
         128 * __hbge2(__half2half2(x[1]), __half2half2(x[0])) +
         256 * (nan != nan) + 512 * __hne(nan, nan) + 1024 * (__half2int_rn(x[1]) == 2);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    heads = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    text = heads + "".join(_texts(n, h) for n, h in TYPES.items()) + PAIRS
    return build_at(tmp_path_factory.mktemp("halves") / "halves.cu", text)


def at(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def assert_identical(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert (found.isnan() == expected.isnan()).all()
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def rounded(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of float64 rounded once; PyTorch goes by way of float, NumPy doesn't."""
    if dtype is torch.float16:
        with np.errstate(over="ignore"):
            return torch.from_numpy(exact.numpy().astype(np.float16))
    return exact.to(dtype)


def every(dtype: torch.dtype) -> torch.Tensor:
    """All of the type's values."""
    return torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype)


@pytest.mark.parametrize("name", DTYPES)
def test_to_float(library: ctypes.CDLL, name: str) -> None:
    x = every(DTYPES[name])
    y = torch.empty(len(x))
    getattr(library, f"to_float_{name}")(at(x), at(y), len(x))
    assert_identical(y, x.float())


@pytest.mark.parametrize("name", DTYPES)
def test_from_float_in_every_direction(library: ctypes.CDLL, name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.cat([torch.randn(2000, generator=generator) * 2.0**k for k in (-20, -10, 0, 5)])
    near = x.to(DTYPES[name])
    below = torch.where(near.float() > x, torch.nextafter(near, torch.full_like(near, -torch.inf)), near)
    above = torch.where(near.float() < x, torch.nextafter(near, torch.full_like(near, torch.inf)), near)
    for mode, expected in enumerate((near, below, above, torch.where(x < 0, above, below))):
        y = torch.empty_like(near)
        getattr(library, f"of_float_{name}")(at(x), at(y), len(x), mode)
        assert_identical(y, expected)


def test_from_double_is_rounded_once(library: ctypes.CDLL) -> None:
    tie = 1 + 2.0**-11  # between two halves; by way of float, a little more is forgotten
    x = torch.tensor([tie + 2.0**-40, tie, tie - 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40], dtype=torch.float64)
    y = torch.empty(len(x), dtype=torch.float16)
    library.of_double_half(at(x), at(y), len(x))
    assert y.tolist() == [1 + 2.0**-10, 1, 1, 1 + 2.0**-10]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("function", [*BINARY, "__hfma"])
def test_functions_of_two(library: ctypes.CDLL, name: str, function: str) -> None:
    generator = torch.Generator().manual_seed(2)
    x = (torch.randn(64 * 64, generator=generator) * 3).to(DTYPES[name])
    y = (torch.randn(64 * 64, generator=generator) * 3).to(DTYPES[name])
    z = torch.empty_like(x)
    which = [*BINARY, "__hfma"].index(function)
    getattr(library, f"binary_{name}")(at(x), at(y), at(z), len(x), which)
    if function == "__hfma":  # exact in float64 unless the exponents lie far apart, which they don't here
        expected = rounded(x.double() * y.double() + x.double(), DTYPES[name])
    else:
        expected = BINARY[function](x, y)
    assert_identical(z, expected)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("function", UNARY)
def test_functions_of_one(library: ctypes.CDLL, name: str, function: str) -> None:
    x = every(DTYPES[name])
    x = x[x.isfinite() & (x.float().abs() < 1000)]
    x = x[: len(x) // 64 * 64].clone()
    y = torch.empty_like(x)
    getattr(library, f"unary_{name}")(at(x), at(y), len(x), list(UNARY).index(function))
    exact = UNARY[function](x.double())
    assert_identical(y, rounded(exact, DTYPES[name]))


def test_pairs(library: ctypes.CDLL) -> None:
    x = torch.randn(64, 2, generator=torch.Generator().manual_seed(3)).half()
    y = torch.empty_like(x)
    library.pairs_of(at(x), at(y), 64)
    swapped = x.flip(1)
    fused = (x.double() * swapped.double() + (x + 1).double()).half()
    assert_identical(y, fused - x * swapped)


def test_comparisons(library: ctypes.CDLL) -> None:
    x = torch.tensor([1.0, 2.25]).half()
    assert library.comparisons(at(x)) == 1 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 1024


@pytest.mark.parametrize("name", DTYPES)
def test_whole_numbers_are_assigned(library: ctypes.CDLL, name: str) -> None:
    x = torch.arange(-4096, 4096, dtype=torch.int32)
    y = torch.empty(len(x), dtype=DTYPES[name])
    getattr(library, f"of_int_{name}")(at(x), at(y), len(x))
    assert_identical(y, rounded(x.double(), DTYPES[name]))
