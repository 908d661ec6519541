"""Checked launches of very many blocks and barriers: the numbers in the shadow don't suffice for them."""

from __future__ import annotations

import pytest
import torch

import opwright

BLOCKS = 1 << 22  # more numbers don't fit beside a thread's in 32 bits

SOURCE = """
#include <opwright.h>
OPWRIGHT("ends(N: int) -> (y: i32[2]) launch over N threads 1")
__global__ void ends(int64_t N, int *y) {
  if (blockIdx.x == 0) y[0] = 1;
  if (blockIdx.x == N - 1) y[0] = 2;
}
OPWRIGHT("own_ends(N: int) -> (y: i32[2]) launch over N threads 1")
__global__ void own_ends(int64_t N, int *y) {
  if (blockIdx.x == 0) y[0] = 1;
  if (blockIdx.x == N - 1) y[1] = 2;
}
OPWRIGHT("fenced(N: int, x: i32[2]!) launch over 1 threads 1")
__global__ void fenced(int64_t N, int *x) {
  for (int64_t i = 0; i < N; ++i) __threadfence();
  x[0] = 1, x[1] = 2;
}
OPWRIGHT("reversed(x: i32[2]!) launch over 2 threads 2")
__global__ void reversed(int *x) {
  const int there = x[1 - threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = there;
}
OPWRIGHT("raced(x: i32[2]!) launch over 2 threads 2")
__global__ void raced(int *x) { x[threadIdx.x] = x[1 - threadIdx.x]; }
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("many") / "ends.cu"
    path.write_text(SOURCE)
    return opwright.load(path, backend=opwright.emulate(check=True))


@pytest.mark.exhaustive
def test_a_race_of_blocks_far_apart(ops: opwright.Operators) -> None:
    with pytest.raises(opwright.KernelError, match=r"race in global memory(.|\n)*of block \(0, 0, 0\) wrote it at"):
        ops.ends(BLOCKS + 1)
    assert ops.own_ends(BLOCKS + 1).tolist() == [1, 2]


@pytest.mark.exhaustive
def test_more_events_than_time_has_numbers(ops: opwright.Operators) -> None:
    x = torch.zeros(2, dtype=torch.int32)
    for _ in range(8):  # 4,800 million events
        ops.fenced(600_000_000, x)
        assert x.tolist() == [1, 2]
        ops.reversed(x)
        assert x.tolist() == [2, 1]
        with pytest.raises(opwright.KernelError, match="data race in global memory"):
            ops.raced(x)


@pytest.mark.exhaustive
def test_a_launch_of_too_many_events(ops: opwright.Operators) -> None:
    x = torch.zeros(2, dtype=torch.int32)
    with pytest.raises(opwright.KernelError, match=r"too many barriers and fences(.|\n)*smaller data"):
        ops.fenced(1 << 32, x)
    ops.reversed(x)
    with pytest.raises(opwright.KernelError, match="data race in global memory"):
        ops.raced(x)
