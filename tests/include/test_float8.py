"""The 8-bit floats are PyTorch's, code by code, in both directions; they refuse arithmetic and say what to write."""

from __future__ import annotations

import ctypes
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from opwright.toolchain import header_dir

_DTYPES = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)
_NAMES = {dtype: str(dtype).removeprefix("torch.") for dtype in _DTYPES}
_EACH = """
EXPORT void widen_{name}(const {name} *from, float *to, long n) {{ for (long i = 0; i < n; ++i) to[i] = from[i]; }}
EXPORT void narrow_{name}(const float *from, {name} *to, long n) {{ for (long i = 0; i < n; ++i) to[i] = from[i]; }}
static_assert(sizeof({name}) == 1 && __is_trivial({name}) && __is_trivially_copyable({name}), "one byte");
static_assert(__is_same(acc<{name}>, float), "acc");
static_assert(!__is_constructible({name}, const float *), "a pointer is no number");
"""
_TEXT = """
#include <opwright.h>
#define EXPORT extern "C" __attribute__((visibility("default")))
static_assert(sizeof(float4_e2m1fn_x2) == 1 && __is_trivial(float4_e2m1fn_x2), "one byte");
""" + "".join(_EACH.format(name=name) for name in _NAMES.values())
_FLAGS = [()] + ([("-march=native",), ("-O3", "-march=native")] if platform.machine() == "x86_64" else [("-O3",)])
Call = Callable[[str, torch.Tensor, torch.dtype], torch.Tensor]
each_dtype = pytest.mark.parametrize("dtype", _NAMES, ids=str)


@pytest.fixture(scope="module", params=_FLAGS, ids=lambda flags: " ".join(flags) or "baseline")
def call(request: pytest.FixtureRequest, compile_once: Callable[..., ctypes.CDLL]) -> Call:
    library = compile_once(_TEXT, *request.param)

    def run(name: str, given: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        result = torch.empty(given.shape, dtype=dtype)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (given, result)]
        library[name](*pointers, ctypes.c_long(given.numel()))
        return result

    return run


def codes(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype)


def floats(dtype: torch.dtype) -> torch.Tensor:
    """Bit patterns over the whole range, every number of the type, every midpoint, and what lies next to each."""
    spread = torch.arange(-(2**31), 2**31, 20011, dtype=torch.int64).to(torch.int32).view(torch.float32)
    values = codes(dtype).float()
    values = values[values.isfinite()].sort().values
    ties = ((values[1:].double() + values[:-1].double()) / 2).float()
    beyond = values[-1] * torch.tensor([1.03, 1.0625, 1.07, 1.125, 1.25, 2, 1000])
    exact = torch.cat([values, ties, beyond, -beyond])
    near = [torch.nextafter(exact, torch.tensor(end)) for end in (-torch.inf, torch.inf)]
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, -torch.nan, 3.4e38, 1e-45, -1e-45])
    return torch.cat([spread, exact, *near, special])


@each_dtype
def test_all_codes_to_float(call: Call, dtype: torch.dtype) -> None:
    got, expected = call(f"widen_{_NAMES[dtype]}", codes(dtype), torch.float32), codes(dtype).float()
    assert torch.equal(got.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(got[numbers].view(torch.int32), expected[numbers].view(torch.int32))


@each_dtype
def test_many_floats_to_codes(call: Call, dtype: torch.dtype) -> None:
    given = floats(dtype)
    assert given.numel() > 200_000
    got, expected = call(f"narrow_{_NAMES[dtype]}", given, dtype), given.to(dtype)
    if dtype == torch.float8_e4m3fn and torch.tensor(1e9).to(dtype).isnan():  # as before PyTorch saturated
        within = given.abs() < 464
        assert (got[~within].float().abs()[~given[~within].isnan()] == 448).all()
        got, expected = got[within], expected[within]
    assert torch.equal(got.view(torch.uint8), expected.view(torch.uint8))


@each_dtype
def test_every_code_survives(call: Call, dtype: torch.dtype) -> None:
    wide = call(f"widen_{_NAMES[dtype]}", codes(dtype), torch.float32)
    again = call(f"narrow_{_NAMES[dtype]}", wide, dtype).view(torch.uint8)
    numbers = ~wide.isnan()
    assert torch.equal(again[numbers], codes(dtype).view(torch.uint8)[numbers])


_KINDS = ("bool", "char", "short", "int", "unsigned", "long", "unsigned long", "float", "double", "long double", "half")


@pytest.mark.parametrize("name", _NAMES.values())
def test_numbers_convert(compile_text: Callable[..., ctypes.CDLL], name: str) -> None:
    kinds = [*_KINDS, "bfloat16", *_NAMES.values()]
    made = "\n".join(f"{{ using A = {kind}; z[{i}] = {name}(A(1)); }}" for i, kind in enumerate(kinds))
    text = f'#include <opwright.h>\nextern "C" void ones({name} *z) {{ {made} z[0] = 1; z[1] = 1.0; }}'
    dtype = next(dtype for dtype, spelled in _NAMES.items() if spelled == name)
    z = torch.zeros(len(kinds), dtype=dtype)
    compile_text(text).ones(ctypes.c_void_p(z.data_ptr()))
    assert z.float().tolist() == [1.0] * len(kinds)


def refused(body: str, tmp_path: Path) -> str:
    source = tmp_path / "refused.cpp"
    source.write_text(f"#include <opwright.h>\nvoid f(float8_e4m3fn x, float8_e5m2 y, half h) {{ {body} }}\n")
    command = ["c++", "-std=c++17", "-fsyntax-only", f"-I{header_dir()}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode, body
    return done.stderr


def test_arithmetic_is_refused_with_what_to_write(tmp_path: Path) -> None:
    for body in ("x + x;", "x + y;", "x + 1;", "1.5 + x;", "h + x;"):
        assert "8-bit floats have no arithmetic: write float(x) + float(y)" in refused(body, tmp_path)
    assert "write float(x) * float(y)" in refused("x * 2.f;", tmp_path)
    assert "write -float(x)" in refused("-x;", tmp_path)
    assert "write x = float(x) - float(y)" in refused("x -= 1;", tmp_path)


def test_what_needs_no_arithmetic_compiles(compile_text: Callable[..., ctypes.CDLL]) -> None:
    compile_text(
        "#include <opwright.h>\n"
        "float f(float8_e4m3fn x, float8_e5m2 y) { float sum = 0; sum += x; sum *= y; double d = y; int i = int(x);\n"
        "  bool b = x < 1 || x == y; float8_e5m2 z = sum; z = 3; return sum + float(d) + i + b + float(z); }\n"
    )
