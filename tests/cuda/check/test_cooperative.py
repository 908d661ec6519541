"""Checked cooperative launches: what a barrier of the whole grid orders, and what is found where it is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda import emulation

# Every block leaves a sum; when all have, each block divides by the sum of these.
KERNEL = """
#include <opwright.h>
#include <cooperative_groups.h>
template <int way>
__global__ void normalised(int n, const float *x, float *sums, float *y) {
  const auto grid = cooperative_groups::this_grid();
  __shared__ float part;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  const int i = grid.thread_rank();
  if (i < n) atomicAdd(&part, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = part;  // left
  if (way == 2 && blockIdx.x == 1) return;
  if (way == 1) __syncthreads();
  else grid.sync();  // waits
  float total = 0;
  for (int b = 0; b < gridDim.x; ++b) total += sums[b];  // read
  if (i < n) y[i] = x[i] / total;
}
"""
LAUNCH = """
OPWRIGHT("way%d(x: f32[N]) -> (sums: f32[4], y: f32[N])")
void way%d(Tensor<const float, 1> x, Tensor<float, 1> sums, Tensor<float, 1> y, cudaStream_t stream) {
  int n = x.size(0);
  const float *in = x.data();
  float *between = sums.data(), *out = y.data();
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(between, 0, 4 * sizeof(float), stream));
  void *given[] = {&n, &in, &between, &out};
  OPWRIGHT_CUDA_CHECK(cudaLaunchCooperativeKernel((void *)normalised<%d>, dim3(4), dim3(64), given, 0, stream));
}
"""
SOURCE = KERNEL + "".join(LAUNCH % (way, way, way) for way in range(3))
LEFT, WAITS, READ = (SOURCE[: SOURCE.index(mark)].count("\n") + 1 for mark in ("// left", "// waits", "// read"))


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("cooperative") / "normalised.cu"
    path.write_text(SOURCE)
    return opwright.load(path, backend=opwright.emulate(check=True))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [("forward", 0), ("reverse", 0), ("random", 3)])
def test_a_barrier_of_the_grid(ops: opwright.Operators, kind: str, seed: int) -> None:
    x = torch.rand(230, generator=torch.Generator().manual_seed(seed))
    with emulation.order(kind, seed=seed):
        with pytest.raises(opwright.KernelError) as racing:
            ops.way1(x)
        with pytest.raises(opwright.KernelError) as waiting:
            ops.way2(x)
        sums, y = ops.way0(x)  # nothing is left of the two
    torch.testing.assert_close(sums.sum(), x.sum())
    torch.testing.assert_close(y, x / x.sum())
    lines = {int(line) for line in re.findall(r"normalised\.cu:(\d+)", str(racing.value).partition("launched")[0])}
    assert "data race in global memory" in str(racing.value)
    assert "of the same block" not in str(racing.value)
    assert lines == {LEFT, READ}
    assert f"normalised.cu:{WAITS}: the grid can't go on: 3 blocks wait for it, and 1 have returned" in str(
        waiting.value
    )
    assert "likely fix: let every block come to the same grid barrier" in str(waiting.value)


READERS = """
#include <opwright.h>
#include <cooperative_groups.h>
__device__ __noinline__ int at(const int *s, int k) { return s[k]; }
template <bool waits>
__global__ void readers(int *y) {
  __shared__ int s[8];
  const int t = threadIdx.x;
  int sum = 0;
  if (t < 8) s[t] = t;
  __syncthreads();
  if (t == 0) for (int k = 0; k < 8; ++k) sum += at(s, k);
  cooperative_groups::this_grid().sync();
  if (t == 1 || t == 2) for (int k = 0; k < 8; ++k) sum += at(s, k);  // read
  if (waits) __syncthreads();
  if (t == 2) s[5] = sum;  // written
  y[blockIdx.x * 32 + t] = sum;
}
"""
READERS_LAUNCH = """
OPWRIGHT("%s() -> (y: i32[64])")
void %s(Tensor<int, 1> y, cudaStream_t stream) {
  int *out = y.data();
  void *given[] = {&out};
  OPWRIGHT_CUDA_CHECK(cudaLaunchCooperativeKernel((void *)readers<%s>, dim3(2), dim3(32), given, 0, stream));
}
"""


@pytest.mark.slow
def test_readers_of_shared_memory_after_a_barrier_of_the_grid(tmp_path: Path) -> None:
    """Who read before the barrier doesn't matter any more; of those after it, both do."""
    path = tmp_path / "readers.cu"
    both = (("alone", "false"), ("waiting", "true"))
    path.write_text(READERS + "".join(READERS_LAUNCH % (name, name, waits) for name, waits in both))
    ops = opwright.load(path, backend=opwright.emulate(check=True))
    with pytest.raises(opwright.KernelError, match=r"shared memory(.|\n)*thread \(1, 0, 0\) of the same block read it"):
        ops.alone()
    assert ops.waiting().view(2, 32)[:, :4].tolist() == [[28, 28, 28, 0]] * 2
