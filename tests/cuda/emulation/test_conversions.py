"""The intrinsics that convert a float to an integer, at the limits of their types (PTX ISA 9.0, cvt).

A cast of a __half or a __nv_bfloat16 is a conversion towards zero (CUDA Math API, operator int of these types).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from .conftest import build_at


class Conversion(NamedTuple):
    """One intrinsic: where its name says from and to what, and how it rounds; a cast, where it has no mode."""

    source: str
    target: str
    mode: str

    @property
    def name(self) -> str:
        return f"__{self.source}2{self.target}_r{self.mode}" if self.mode else f"({CASTS[self.target]}){self.source}_of"


SOURCES = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
BITS = {"int": 32, "uint": 32, "ll": 64, "ull": 64, "short": 16, "ushort": 16, "char": 8, "uchar": 8}
CASTS = {
    "int": "int",
    "uint": "unsigned",
    "ll": "long long",
    "ull": "unsigned long long",
    "short": "short",
    "ushort": "unsigned short",
    "char": "signed char",
    "uchar": "unsigned char",
}
ROUNDED: dict[str, Callable[[float], int]] = {
    "n": round,
    "d": math.floor,
    "u": math.ceil,
    "z": math.trunc,
    "": math.trunc,
}
ALL = [
    Conversion(source, target, mode)
    for source in SOURCES
    for target in BITS
    for mode in ROUNDED
    if (mode and BITS[target] >= 32) or (source in ("half", "bfloat16") and (BITS[target] >= 16 or mode in ("z", "")))
]
LIMITS = [2.0**bits + off for bits in (7, 8, 15, 16, 31, 32, 63, 64) for off in (-1.5, -1, -0.5, 0, 0.5, 1)]
BELOW = [math.nextafter(2.0**bits, 0) for bits in (31, 32, 63, 64)] + [2.0**63 - 2.0**39, 2.0**32 - 2.0**8]
POSITIVE = [0.0, 0.25, 0.5, 1.5, 2.5, *LIMITS, *BELOW, 1e30, math.inf]
NUMBERS = [*POSITIVE, *(-x for x in POSITIVE), math.nan]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], list[int]]:
    cases = "".join(f"  *out++ = (unsigned long long){each.name}({each.source}_of(x));\n" for each in ALL)
    text = f"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
static float float_of(double x) {{ return float(x); }}
static double double_of(double x) {{ return x; }}
static __half half_of(double x) {{ return __double2half(x); }}
static __nv_bfloat16 bfloat16_of(double x) {{ return __double2bfloat16(x); }}
extern "C" __attribute__((visibility("default"))) void convert(double x, unsigned long long *out) {{
{cases}}}
"""
    path: Path = tmp_path_factory.mktemp("conversions") / "conversions.cu"
    library = build_at(path, text)
    library.convert.argtypes = [ctypes.c_double, ctypes.c_void_p]

    def convert(x: float) -> list[int]:
        found = (ctypes.c_uint64 * len(ALL))()
        library.convert(x, found)
        return list(found)

    return convert


def _expected(conversion: Conversion, x: float) -> int:
    """What the instruction gives, as an integer of 64 bits to which the target type has been extended."""
    bits, is_signed = BITS[conversion.target], not conversion.target.startswith("u")
    low = -(2 ** (bits - 1)) if is_signed else 0
    high = low + 2**bits - 1
    value = torch.tensor(x, dtype=torch.float64).to(SOURCES[conversion.source]).item()
    if math.isnan(value):
        highest = low if is_signed else 2 ** (bits - 1)
        found = highest if bits == 64 or conversion.source == "double" else 0
    elif math.isinf(value):
        found = high if value > 0 else low
    else:
        found = min(max(ROUNDED[conversion.mode](value), low), high)
    return found % 2**64


def test_conversions_saturate(converted: Callable[[float], list[int]]) -> None:
    for x in NUMBERS:
        expected = [_expected(conversion, x) for conversion in ALL]
        wrong = [each.name for each, a, b in zip(ALL, converted(x), expected, strict=True) if a != b]
        assert not wrong, x
