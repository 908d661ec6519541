"""What TH has beside tensors: logarithms of sums, atomic counters, and the functions of THMath.h."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import cffi
import pytest

from opwright.legacy.th_library import header_dirs, load_library
from tests.legacy.th import TH, THError, th


@pytest.fixture(scope="module")
def lib() -> TH:
    return th()


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (1.0, -2.0), (-3.0, 5.0), (700.0, 800.0), (-1000.0, -1000.5)])
def test_logarithms_of_sums(lib: TH, a: float, b: float) -> None:
    high, low = max(a, b), min(a, b)
    assert lib.call("THLogAdd", a, b) == pytest.approx(high + math.log1p(math.exp(low - high)))
    if high > low:
        assert lib.call("THLogSub", high, low) == pytest.approx(high + math.log(-math.expm1(low - high)))
        with pytest.raises(THError, match=r"LogSub: log_a \(.*\) should be greater than log_b"):
            lib.call("THLogSub", low, high)


def test_constants(lib: TH) -> None:
    def constant(name: str) -> float:
        return ctypes.c_double.in_dll(load_library().functions, name).value

    assert constant("THLog2Pi") == pytest.approx(math.log(2 * math.pi))
    assert constant("THLogOne") == 0
    assert lib.call("THLogSub", 1.0, 1.0) == constant("THLogZero")
    assert lib.call("THLogAdd", -math.inf, -math.inf) == -math.inf
    assert lib.call("THExpMinusApprox", 2.0) == pytest.approx(math.exp(-2))


@pytest.mark.parametrize(("name", "kind"), [("", "int32_t"), ("Long", "int64_t"), ("Ptrdiff", "ptrdiff_t")])
def test_atomic_numbers(lib: TH, name: str, kind: str) -> None:
    cell = lib.ffi.new(f"{kind} *", 5)
    assert lib.call(f"THAtomicAdd{name}", cell, 3) == 5
    assert lib.call(f"THAtomicGet{name}", cell) == 8
    assert lib.call(f"THAtomicCompareAndSwap{name}", cell, 7, 1) == 0
    assert lib.call(f"THAtomicCompareAndSwap{name}", cell, 8, 1) == 1
    assert cell[0] == 1
    lib.call(f"THAtomicSet{name}", cell, -4)
    assert cell[0] == -4


def test_counts_of_references(lib: TH) -> None:
    cell = lib.ffi.new("int32_t *", 1)
    lib.call("THAtomicIncrementRef", cell)
    assert [lib.call("THAtomicDecrementRef", cell) for _ in range(2)] == [0, 1]


_MATH = """
#include <TH/THMath.h>
double value(int which, double x, double y, double weight) {
  switch (which) {
    case 0: return TH_sigmoid(x);
    case 1: return TH_frac(x);
    case 2: return TH_rsqrt(x);
    case 3: return TH_lerp(x, y, weight);
    case 4: return TH_sigmoidf((float)x);
    case 5: return TH_fracf((float)x);
    case 6: return TH_rsqrtf((float)x);
    default: return TH_lerpf((float)x, (float)y, (float)weight);
  }
}
"""


def test_functions_of_the_header(tmp_path: Path) -> None:
    source, made = tmp_path / "value.c", tmp_path / "value.so"
    source.write_text(_MATH)
    command = [shutil.which("cc") or "cc", "-std=c99", "-fPIC", "-shared", f"-I{header_dirs()[0]}", str(source)]
    subprocess.run([*command, "-o", str(made), "-lm"], check=True)
    ffi = cffi.FFI()
    ffi.cdef("double value(int which, double x, double y, double weight);")
    value = ffi.dlopen(str(made)).value
    expected = (1 / (1 + math.exp(-2.25)), 0.25, 1 / 1.5, 2.25 + 0.5 * (4 - 2.25))
    for which, number in enumerate(expected):
        assert value(which, 2.25, 4.0, 0.5) == pytest.approx(number)
        assert value(which + 4, 2.25, 4.0, 0.5) == pytest.approx(number, rel=1e-6)
