"""Kernels whose loops the compiler refuses run as threads; an author's mistake is told as it stands there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.cuda.emulation import emulate
from opwright.cuda.emulation.loops.plain_loops import PlainLoops
from opwright.errors import CompileError
from opwright.sources.cpp.edits import Edit

SOURCE = """
#include <opwright.h>
OPWRIGHT("reversed(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void reversed(int N, const float *x, float *y) {
  __shared__ float all[64];
  if (threadIdx.x < N) all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < N) y[threadIdx.x] = all[N - 1 - threadIdx.x];MISTAKE
}
"""


@pytest.fixture
def refused_copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of copies of kernels, each of which the compiler refuses."""
    copies, found = PlainLoops.copies, list[str]()

    def broken(self: PlainLoops, *given: Any) -> Iterator[Edit]:
        for edit in copies(self, *given):
            found.append(edit.text)
            yield Edit(edit.start, edit.end, f"{edit.text} int opwright_broken = nothing_of_this_name;")

    monkeypatch.setattr(PlainLoops, "copies", broken)
    return found


def test_loops_that_dont_compile(tmp_path: Path, refused_copies: list[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="opwright")
    source = tmp_path / "loops_refused.cu"
    source.write_text(SOURCE.replace("MISTAKE", ""))
    x = torch.arange(50.0)
    for _ in range(2):  # the second finds it in the cache
        assert torch.equal(opwright.load(source, backend=emulate()).reversed(x), x.flip(0))
    told = [each.getMessage() for each in caplog.records if "as it doesn't compile otherwise" in each.getMessage()]
    assert len(told) == 1
    assert "nothing_of_this_name" in told[0]
    assert any("opwright_plain_reversed" in text for text in refused_copies)


def test_a_mistake_of_the_authors(tmp_path: Path) -> None:
    source = tmp_path / "loops_mistaken.cu"
    source.write_text(SOURCE.replace("MISTAKE", " z = 1;"))
    with pytest.raises(CompileError) as raised:
        opwright.load(source, backend=emulate()).reversed(torch.arange(50.0))
    text = str(raised.value)
    assert text.startswith(f"{source}:8:") or f"{source}:8:" in text
    assert "opwright_plain" not in text


@pytest.mark.parametrize("check", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_a_function_that_calls_itself_may_be_forceinline(tmp_path: Path, check: bool) -> None:
    """As with nvcc; GCC takes `always_inline` for a promise."""
    source = tmp_path / f"calls_itself_{check}.cu"
    source.write_text("""
#include <opwright.h>
__device__ __forceinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
OPWRIGHT("fibonaccis(N: int) -> (y: i32[N]) launch over N, threads 64")
__global__ void fibonaccis(int N, int *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = fibonacci(i);
}
""")
    ops = opwright.load(source, backend=emulate(check=check))
    assert ops.fibonaccis(10).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


ARRAYS = """
#include <opwright.h>
OPWRIGHT("filled(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void filled(int N, const float *x, float *y) {
  DECLARED
  if (threadIdx.x < N) y[threadIdx.x] = twice * x[threadIdx.x];
}
"""


CONSTANT = "constexpr auto f = [] { float a[2]; a[0] = a[1] = 1; return a[0] + a[1]; }; constexpr float twice = f();"
NOT_CONSTANT = "float some[N]; some[0] = 2; const float twice = some[0];"


@pytest.mark.parametrize(("name", "declared"), [("constant", CONSTANT), ("not_constant", NOT_CONSTANT)])
def test_arrays_that_cant_be_filled(tmp_path: Path, name: str, declared: str) -> None:
    source = tmp_path / f"arrays_{name}.cu"
    source.write_text(ARRAYS.replace("DECLARED", declared))
    x = torch.arange(20.0)
    ops = opwright.load(source, extra_cflags=["-std=c++20"], backend=emulate(check=True))
    assert torch.equal(ops.filled(x), 2 * x)
