"""half and bfloat16 are PyTorch's, bit by bit, with the processor's instructions and without."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable

import pytest
import torch

import opwright

_TEXT = """
#include <opwright.h>
#define EXPORT extern "C" __attribute__((visibility("default")))
template <class T> void widen(const T *from, float *to, long n) { for (long i = 0; i < n; ++i) to[i] = from[i]; }
template <class T> void narrow(const float *from, T *to, long n) { for (long i = 0; i < n; ++i) to[i] = from[i]; }
template <class T> void fuse(const T *x, T *y, long n) {
  for (long i = 0; i < n; ++i) { y[i] = 3 * x[i] - x[n - 1 - i] / 2; y[i] += 1; y[i] *= x[i]; y[i] -= 0.5; y[i] /= 3; }
}
EXPORT void widen_half(const half *from, float *to, long n) { widen(from, to, n); }
EXPORT void widen_bfloat16(const bfloat16 *from, float *to, long n) { widen(from, to, n); }
EXPORT void narrow_half(const float *from, half *to, long n) { narrow(from, to, n); }
EXPORT void narrow_bfloat16(const float *from, bfloat16 *to, long n) { narrow(from, to, n); }
EXPORT void fuse_half(const half *x, half *y, long n) { fuse(x, y, n); }
EXPORT void fuse_bfloat16(const bfloat16 *x, bfloat16 *y, long n) { fuse(x, y, n); }
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2, "two bytes");
static_assert(__is_trivially_copyable(half) && __is_trivial(bfloat16), "raw memory");
static_assert(__is_same(acc<half>, float) && __is_same(acc<double>, double) && __is_same(acc<bfloat16>, float), "acc");
"""
_NAMES = {torch.float16: "half", torch.bfloat16: "bfloat16"}
_BITS = [()] + ([("-march=native",), ("-march=native", "-mno-f16c")] if platform.machine() == "x86_64" else [])
Call = Callable[[str, torch.Tensor, torch.dtype], torch.Tensor]


@pytest.fixture(params=_BITS, ids=lambda flags: " ".join(flags) or "baseline")
def call(request: pytest.FixtureRequest, compile_text: Callable[..., ctypes.CDLL]) -> Call:
    library = compile_text(_TEXT, *request.param)

    def run(name: str, given: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        result = torch.empty(given.shape, dtype=dtype)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (given, result)]
        library[name](*pointers, ctypes.c_long(given.numel()))
        return result

    return run


def same(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal bits; of a NaN only that it is one, and its sign."""
    integers = torch.int16 if got.itemsize == 2 else torch.int32
    nan = expected.isnan()
    signs = torch.equal(got.signbit(), expected.signbit())
    return (
        signs and torch.equal(got.isnan(), nan) and torch.equal(got.view(integers)[~nan], expected.view(integers)[~nan])
    )


def floats() -> torch.Tensor:
    """Bit patterns over the whole range, and every tie between neighbouring halves with what lies next to it."""
    spread = torch.arange(-(2**31), 2**31, 40009, dtype=torch.int64).to(torch.int32).view(torch.float32)
    every = torch.arange(0, 2**16, dtype=torch.int32).to(torch.int16)
    near = []
    for dtype in _NAMES:
        values = every.view(dtype).float()
        values = values[values.isfinite()].sort().values
        ties = ((values[1:].double() + values[:-1].double()) / 2).float()
        near += [values, *(torch.nextafter(ties, torch.tensor(end)) for end in (-torch.inf, torch.inf)), ties]
    special = torch.tensor(
        [0.0, -0.0, torch.inf, -torch.inf, torch.nan, 65504, 65519.99, 65520, 3.4e38, 1e-45, 5.96e-8]
    )
    return torch.cat([spread, special, -special, *near])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", _NAMES, ids=str)
def test_all_patterns_to_float(call: Call, dtype: torch.dtype) -> None:
    every = torch.arange(0, 2**16, dtype=torch.int32).to(torch.int16).view(dtype)
    assert same(call(f"widen_{_NAMES[dtype]}", every, torch.float32), every.float())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", _NAMES, ids=str)
def test_many_floats(call: Call, dtype: torch.dtype) -> None:
    given = floats()
    assert given.numel() > 300_000
    got = call(f"narrow_{_NAMES[dtype]}", given, dtype)
    assert torch.equal(got.isnan(), given.isnan())
    numbers = ~given.isnan()
    assert same(got[numbers], given.to(dtype)[numbers])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", _NAMES, ids=str)
def test_arithmetic_is_floats_rounded_at_each_assignment(call: Call, dtype: torch.dtype) -> None:
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1)).to(dtype)
    y = (3 * x.float() - x.flip(0).float() / 2).to(dtype)
    y = (y.float() + 1).to(dtype)
    y = (y.float() * x.float()).to(dtype)
    y = (y.float() - 0.5).to(dtype)
    assert same(call(f"fuse_{_NAMES[dtype]}", x, dtype), (y.float() / 3).to(dtype))


_KINDS = (
    *("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long"),
    *("unsigned long", "long long", "unsigned long long", "size_t", "int64_t", "uint64_t"),
    *("float", "double", "long double"),
)


@pytest.mark.parametrize("name", _NAMES.values())
def test_every_number_converts_and_no_pointer_does(compile_text: Callable[..., ctypes.CDLL], name: str) -> None:
    assigned = "\n".join(f"z[{i}] = {kind.replace(' ', '_')}(1);" for i, kind in enumerate(_KINDS))
    aliases = "\n".join(f"using {kind.replace(' ', '_')} = {kind};" for kind in _KINDS if " " in kind)
    text = f"""
#include <opwright.h>
{aliases}
static_assert(!__is_constructible({name}, const float *), "a pointer is no bool");
extern "C" void ones({name} *z) {{ {assigned} }}
extern "C" void whole(const int64_t *from, {name} *to) {{ for (int i = 0; i < 6; ++i) to[i] = from[i]; }}
"""
    library = compile_text(text)
    dtype = next(dtype for dtype, spelled in _NAMES.items() if spelled == name)
    z = torch.zeros(len(_KINDS), dtype=dtype)
    library.ones(ctypes.c_void_p(z.data_ptr()))
    assert z.tolist() == [1.0] * len(_KINDS)
    whole = torch.tensor([2049, 2051, 65519, 65520, -(2**63), 2**24 + 2**16 + 1])
    got = torch.zeros(6, dtype=dtype)
    library.whole(*(ctypes.c_void_p(t.data_ptr()) for t in (whole, got)))
    assert same(got, whole.to(dtype))


_QUESTIONS = """
#include <opwright.h>
OPWRIGHT("finite(x: T[N]) -> (y: T[N])")
template <class T> void finite(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = nan_to_num(x[i]);
}
OPWRIGHT("negative(x: T[N]) -> (y: bool[N])")
template <class T> void negative(Tensor<const T, 1> x, Tensor<bool, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = signbit(x[i]);
}
OPWRIGHT("negative_each(x: T) -> (y: bool)")
template <class T> bool negative_each(T x) { return signbit(x); }
"""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_largest_number_and_the_sign_bit(dtype: torch.dtype) -> None:
    ops = opwright.load_inline("half_questions", cpp=_QUESTIONS)
    special = torch.tensor([0.0, -0.0, 1.5, -2, float("inf"), float("-inf"), float("nan")], dtype=dtype)
    x = torch.cat([special, -special[-1:], torch.linspace(-9, 9, 100).to(dtype)])
    assert torch.equal(ops.finite(x), x.nan_to_num())
    assert torch.equal(ops.negative(x), x.signbit())
    assert torch.equal(ops.negative_each(x), x.signbit())
