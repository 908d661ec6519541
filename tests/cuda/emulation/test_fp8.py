"""cuda_fp8.h against PyTorch's 8-bit floats, and what PyTorch hasn't against the definition of the format."""

from __future__ import annotations

import ctypes

import pytest
import torch

from .conftest import build_at

FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e8m0": torch.float8_e8m0fnu}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def _texts(name: str, q: str) -> str:
    each = f"for (int i = 0; i < n; ++i) y[i] = {q}(x[i]);"
    return f"""
EXPORT void of_float_{name}(const float *x, {q} *y, int n) {{ {each} }}
EXPORT void of_double_{name}(const double *x, {q} *y, int n) {{ {each} }}
EXPORT void of_half_{name}(const __half *x, {q} *y, int n) {{ {each} }}
__global__ void kernel_{name}(const {q} *x, float *y, int *z, unsigned char *bytes) {{
  const int i = threadIdx.x;
  y[i] = static_cast<float>(x[i]), z[i] = int(x[i]) + 1000 * bool(x[i]), bytes[i] = (unsigned char)(x[i]);
}}
EXPORT void all_of_{name}(const {q} *x, float *y, int *z, unsigned char *bytes) {{
  kernel_{name}<<<1, 256>>>(x, y, z, bytes);
}}
"""


TEXT = (
    "#include <cuda_fp8.h>\n"
    + "".join(_texts(name, f"__nv_fp8_{name}") for name in FORMATS)
    + """
EXPORT void not_saturated(const float *x, unsigned char *e4m3, unsigned char *e5m2, int n) {
  for (int i = 0; i < n; ++i) {
    e4m3[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E4M3);
    e5m2[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E5M2);
  }
}
EXPORT void many(const float4 *x, __nv_fp8x4_e4m3 *four, __nv_fp8x2_storage_t *two, float4 *back, __half2_raw *halves) {
  *four = __nv_fp8x4_e4m3(*x);
  *two = __nv_cvt_float2_to_fp8x2(make_float2(x->x, x->y), __NV_SATFINITE, __NV_E4M3);
  *back = float4(*four);
  *halves = __nv_cvt_fp8x2_to_halfraw2(*two, __NV_E4M3);
}
EXPORT void powers(const float *x, unsigned char *up, unsigned char *down, int n) {
  for (int i = 0; i < n; ++i) {
    up[i] = __nv_cvt_float_to_e8m0(x[i], __NV_SATFINITE, cudaRoundPosInf);
    down[i] = __nv_cvt_float_to_e8m0(x[i], __NV_NOSAT, cudaRoundZero);
  }
}
"""
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_at(tmp_path_factory.mktemp("fp8") / "fp8_conversions.cu", TEXT)


def at(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def numbers(name: str) -> torch.Tensor:
    """All numbers of the format, those in the middle between two, and their neighbours."""
    of = torch.arange(256, dtype=torch.uint8).view(FORMATS[name]).float()
    finite = of[of.isfinite()].sort().values
    middle = (finite[1:] + finite[:-1]) / 2
    far = torch.tensor([464.0, 480.0, 57344.0, 61440.0, 1e9, 3e38, torch.inf])
    exact = torch.cat([finite, middle, far, -far])
    infinity = torch.tensor(torch.inf)
    return torch.cat([exact, torch.nextafter(exact, infinity), torch.nextafter(exact, -infinity)])


@pytest.mark.parametrize("name", LARGEST)
def test_rounded_to_the_nearest_and_saturated(library: ctypes.CDLL, name: str) -> None:
    x = numbers(name)
    expected = x.clamp(-LARGEST[name], LARGEST[name]).to(FORMATS[name])
    for source, kind in ((x, "float"), (x.double(), "double"), (x.half(), "half")):
        y = torch.empty(len(x), dtype=torch.uint8)
        getattr(library, f"of_{kind}_{name}")(at(source), at(y), len(x))
        if kind == "half":
            expected = source.float().clamp(-LARGEST[name], LARGEST[name]).to(FORMATS[name])
        assert (y == expected.view(torch.uint8)).all(), kind


@pytest.mark.parametrize("name", LARGEST)
def test_a_double_is_rounded_once(library: ctypes.CDLL, name: str) -> None:
    tie = 1 + 2.0 ** -(4 if name == "e4m3" else 3)
    x = torch.tensor([tie + 2.0**-40, tie, tie - 2.0**-40], dtype=torch.float64)
    y = torch.empty(3, dtype=torch.uint8)
    getattr(library, f"of_double_{name}")(at(x), at(y), 3)
    assert y.view(FORMATS[name]).float().tolist() == [2 * tie - 1, 1, 1]


@pytest.mark.parametrize("name", FORMATS)
def test_all_codes(library: ctypes.CDLL, name: str) -> None:
    x = torch.arange(256, dtype=torch.uint8)
    y, z, bytes_ = torch.empty(256), torch.empty(256, dtype=torch.int32), torch.empty(256, dtype=torch.uint8)
    getattr(library, f"all_of_{name}")(at(x), at(y), at(z), at(bytes_))
    expected = x.view(FORMATS[name]).float()
    torch.testing.assert_close(y, expected, rtol=0, atol=0, equal_nan=True)
    number = expected.nan_to_num(nan=0.0, posinf=2.0**40, neginf=-(2.0**40)).double()
    whole = number.trunc().clamp(-(2.0**31), 2.0**31 - 1)
    assert (z == (whole + 1000 * (expected != 0)).to(torch.int64).to(torch.int32)).all()
    assert (bytes_ == number.trunc().clamp(0, 255).to(torch.uint8)).all()


def test_without_saturation(library: ctypes.CDLL) -> None:
    x = torch.cat([numbers("e4m3"), numbers("e5m2"), torch.tensor([torch.nan])])
    e4m3, e5m2 = torch.empty(len(x), dtype=torch.uint8), torch.empty(len(x), dtype=torch.uint8)
    library.not_saturated(at(x), at(e4m3), at(e5m2), len(x))
    expected = x.to(torch.float8_e5m2).float()  # PyTorch goes to infinity, too
    torch.testing.assert_close(e5m2.view(torch.float8_e5m2).float(), expected, rtol=0, atol=0, equal_nan=True)
    expected = x.to(torch.float8_e4m3fn).float()
    expected[x.abs() > 464] = torch.nan
    torch.testing.assert_close(e4m3.view(torch.float8_e4m3fn).float(), expected, rtol=0, atol=0, equal_nan=True)


def test_several_at_once(library: ctypes.CDLL) -> None:
    x = torch.tensor([1.1, -500.0, 0.3, 7.0])
    four, two, back = torch.empty(4, dtype=torch.uint8), torch.empty(2, dtype=torch.uint8), torch.empty(4)
    halves = torch.empty(2, dtype=torch.float16)
    library.many(at(x), at(four), at(two), at(back), at(halves))
    expected = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    assert four.tolist() == expected.view(torch.uint8).tolist()
    assert two.tolist() == four[:2].tolist()
    assert back.tolist() == expected.float().tolist()
    assert halves.tolist() == expected[:2].half().tolist()


def test_powers_of_two(library: ctypes.CDLL) -> None:
    least, largest = 2.0**-127, 2.0**127
    x = torch.tensor([1.0, 1.5, -3.0, 4.0, least, least * 1.25, 0.0, largest, largest * 1.5, torch.inf, torch.nan])
    up, down = torch.empty(len(x), dtype=torch.uint8), torch.empty(len(x), dtype=torch.uint8)
    library.powers(at(x), at(up), at(down), len(x))
    assert up.view(torch.float8_e8m0fnu).float()[:-1].tolist() == [
        1, 2, 4, 4, least, 2 * least, least, largest, largest, largest,
    ]  # fmt: skip
    assert down.view(torch.float8_e8m0fnu).float()[:-2].tolist() == [
        1, 1, 2, 4, least, least, least, largest, largest,
    ]  # fmt: skip
    assert up[-1] == 255
    assert down[-2:].tolist() == [255, 255]
