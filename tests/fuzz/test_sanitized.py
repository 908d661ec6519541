"""Kernels and runtime under AddressSanitizer and UndefinedBehaviorSanitizer.

Everything is compiled anew with `OPWRIGHT_SANITIZE` (the runtime takes minutes), and kept in a cache as ever.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.test_calls import ROOT, assert_calls_are_right

pytestmark = pytest.mark.exhaustive

# PyTorch and Python aren't instrumented, free little at exit, and pass memory between their own allocators.
_ASAN = "detect_leaks=0:verify_asan_link_order=0:detect_odr_violation=0"
_ASAN += ":alloc_dealloc_mismatch=0:allocator_may_return_null=1:max_allocation_size_mb=4096:quarantine_size_mb=64"


def _library(name: str) -> str:
    found = subprocess.run(
        [shutil.which("c++") or "", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"the compiler has no {name}")
    return found


@pytest.fixture(scope="module")
def sanitized() -> dict[str, str]:
    """The environment of a process with instrumented kernels and runtime."""
    return sanitizing()


def sanitizing() -> dict[str, str]:
    """Return that environment; skip where the compiler has no such libraries."""
    return {
        "LD_PRELOAD": f"{_library('libasan.so')} {_library('libubsan.so')}",
        "OPWRIGHT_SANITIZE": "address,undefined",
        "ASAN_OPTIONS": _ASAN,
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }


_PROGRAM = """
import os, sys
os.environ.pop("LD_PRELOAD")
import torch, opwright
ops = opwright.load(sys.argv[1])
ops.without_results(torch.ones(10))
print(ops.broken(torch.ones(10), int(sys.argv[2])).tolist())
"""
_KERNEL = """#include <opwright.h>
OPWRIGHT("without_results(x: f32[N]!)")
void without_results(Tensor<float, 1> x) { x[0] = 2; }
OPWRIGHT("broken(x: f32[N], k: int) -> (y: i32[N])")
void broken(Tensor<const float, 1> x, int64_t k, Tensor<int32_t, 1> y) {
  Workspace<int32_t> w(x.size(0));
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = w[i] = int32_t(x[i]) + 2147483646 * int32_t(k % 2) + int32_t(k % 2);
  if (k == 2) w[x.size(0)] = 1;
  if (k == 4) y[x.size(0) + 1] = 1;
  if (k == 6) y[0] = int32_t(*(&x[0] - 1));
}
"""


@pytest.mark.parametrize(
    ("k", "found"),
    [
        (0, None),
        (1, "runtime error: signed integer overflow"),
        (2, "AddressSanitizer: heap-buffer-overflow"),
        (4, "AddressSanitizer: heap-buffer-overflow"),
        (6, "AddressSanitizer: heap-buffer-overflow"),
    ],
)
def test_the_sanitizers_see(k: int, found: str | None, sanitized: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "broken.cpp"
    path.write_text(_KERNEL)
    environment = os.environ | sanitized | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", _PROGRAM, str(path), str(k)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if found is None:
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str([1] * 10)
    else:
        assert done.returncode != 0
        assert found in done.stderr


def test_some_sanitized_calls(sanitized: dict[str, str], tmp_path: Path) -> None:
    assert_calls_are_right(400, tmp_path, sanitized)


def test_many_sanitized_calls(sanitized: dict[str, str], tmp_path: Path) -> None:
    assert_calls_are_right(20_000, tmp_path, sanitized)


@pytest.mark.parametrize("kind", ["pointwise", "batched"])
def test_sanitized_loops(kind: str, sanitized: dict[str, str]) -> None:
    """Kernels alone: the runtime in Python has nothing to compile."""
    environment = os.environ | sanitized | {"PYTHONPATH": str(ROOT / "src"), "OPWRIGHT_RUNTIME": "python"}
    program = f"import os; del os.environ['LD_PRELOAD']; from tests.include import loops; loops.run({kind!r}, 0, 300)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
