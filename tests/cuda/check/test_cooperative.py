"""Checked cooperative launches: what a barrier of the whole grid orders, and what is found where it is missing."""

from __future__ import annotations

import re

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
