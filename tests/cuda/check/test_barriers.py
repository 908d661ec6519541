"""Barriers that all threads reach in order, of which the checker isn't told each time, and those that differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

Write = Callable[..., Path]

# Both barriers are in line 3 of their files: `write` puts one before the text.
HEADER = "#pragma once\nstatic __device__ void wait() { __syncthreads(); }\n"
DIVERGENT = """#include "wait_here.h"
static __device__ void wait_there() { __syncthreads(); }
OPWRIGHT("meet(rounds: int, part: int, x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void meet(int rounds, int part, const float *x, float *y) {
  for (int k = 0; k < rounds; ++k) wait();
  if (int(threadIdx.x) / 8 == part) wait_there();
  else wait();
  y[threadIdx.x] = x[threadIdx.x];
}
"""
HARMLESS = """
OPWRIGHT("last(rounds: int, x: f32[64]) -> (y: f32[2]) launch over 64 threads 64")
__global__ void last(int rounds, const float *x, float *y) {
  __shared__ float seen[2];
  for (int k = 0; k < rounds; ++k) {
    seen[k % 2] = x[threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < 2) y[threadIdx.x] = seen[threadIdx.x];
}
"""


@pytest.mark.slow
def test_barriers_of_two_files_in_the_same_line_are_two(write: Write) -> None:
    write(HEADER, "wait_here.h")
    ops = opwright.load(write(DIVERGENT, "divergent.cu"), backend=opwright.emulate(check=True))
    x = torch.randn(64)
    assert torch.equal(ops.meet(3, 8, x), x)
    says = r"divergent\.cu:3: divergent barrier\n.*\n.*wait at .*wait_here\.h:3,"
    with pytest.raises(opwright.KernelError, match=says) as caught:
        ops.meet(3, 5, x)
    assert "thread (40, 0, 0)" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 31, 32, 63])
def test_threads_that_write_the_same_race_as_soon_as_one_writes_another_value(write: Write, place: int) -> None:
    ops = opwright.load_inline(f"harmless_{place}", cuda=HARMLESS, backend=opwright.emulate(check=True))
    x = torch.ones(64)
    assert torch.equal(ops.last(4, x), torch.ones(2))
    x[place] = 2
    with pytest.raises(opwright.KernelError, match="data race in shared memory") as caught:
        ops.last(4, x)
    assert f"thread ({place}, 0, 0)" in str(caught.value) or f"thread ({place + 1}, 0, 0)" in str(caught.value)
