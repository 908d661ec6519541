"""Operators whose kernels are CUDA's, loaded and called on CPU tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda.emulation import order
from tests.cuda.kernels_for_front import CUDA

SOFTMAX = """#include <opwright.h>

template <class T>
__global__ void softmax_kernel(Tensor<const T, 2> x, Tensor<T, 2> y) {
  __shared__ float parts[32];
  extern __shared__ float row[];
  const int columns = x.size(1);
  float most = -INFINITY;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, row[c] = float(x(blockIdx.x, c)));
  for (int o = 16; o; o >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, o));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) most = fmaxf(most, parts[w]);
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = __expf(row[c] - most);
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += parts[w];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[blockIdx.x][c] = row[c] / sum;
}

OPWRIGHT("softmax(x: T[N, C]) -> (y: T[N, C]) where T in (f32, f16, bf16)")
template <class T>
void softmax(Tensor<const T, 2> x, Tensor<T, 2> y, cudaStream_t stream) {
  softmax_kernel<<<x.size(0), 128, x.size(1) * sizeof(float), stream>>>(x, y);
}
"""


def test_round(tmp_path: Path) -> None:
    (tmp_path / "emulated_round.cu").write_text(CUDA)
    ops = opwright.load(tmp_path / "emulated_round.cu", backend="emulate")
    x = torch.rand(3, 700, generator=torch.Generator().manual_seed(0))
    assert (ops.round(x) == (x >= 0.5)).all()
    assert ops.round(torch.rand(0)).shape == (0,)


@pytest.mark.slow
def test_softmax(tmp_path: Path) -> None:
    (tmp_path / "emulated_softmax.cu").write_text(SOFTMAX)
    ops = opwright.load(tmp_path / "emulated_softmax.cu", backend=opwright.emulate())
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(5, 300, generator=torch.Generator().manual_seed(0)).to(dtype)
        for kind in ("forward", "reverse", "random"):
            with order(kind, seed=1):
                torch.testing.assert_close(ops.softmax(x), torch.softmax(x.float(), 1).to(dtype))
