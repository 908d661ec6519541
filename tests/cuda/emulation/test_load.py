"""Operators whose kernels are CUDA's, loaded and called on CPU tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda.emulation import order
from tests.cuda.kernels_for_front import CUDA

CHOSEN = """#include <opwright.h>

enum class Mode { sum, mean };

OPWRIGHT("views(x: T[N], mode: mean | sum, k: int?, twice: bool) -> (y: T[N]) launch over N, threads 32")
template <class T, Mode mode, bool twice>
__global__ void views(Tensor<const T, 1> x, Optional<int64_t> k, Tensor<T, 1> y) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.numel()) y[i] = x[i] * T(mode == Mode::sum ? 3 : 2) * T(twice ? 2 : 1) + T(k ? *k : 7);
}

OPWRIGHT("pointers(x: f32[N], mode: mean | sum, k: float?) -> (y: f32[N]) launch over N, threads 32")
__global__ void pointers(const float *x, Mode mode, Optional<float> k, float *y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] * (mode == Mode::sum ? 3 : 2) + (k ? *k : 7);
}

OPWRIGHT("element(x: T, mode: mean | sum, twice: bool) -> (y: T)")
template <class T, Mode mode>
T element(T x, bool twice) {
  return x * T(mode == Mode::sum ? 3 : 2) * T(twice ? 2 : 1);
}
"""
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


def test_choices_and_optional_scalars(tmp_path: Path) -> None:
    source = tmp_path / "choices.cu"
    source.write_text(CHOSEN)
    ops = opwright.load(source, backend="emulate")
    x = torch.randn(40, requires_grad=True)
    for mode, factor in (("mean", 2), ("sum", 3)):
        torch.testing.assert_close(ops.views(x, mode, None, False), x * factor + 7)
        torch.testing.assert_close(ops.views(x, mode, 4, True), x * factor * 2 + 4)
        torch.testing.assert_close(ops.pointers(x, mode), x * factor + 7)
        torch.testing.assert_close(ops.pointers(x, mode, 0.5), x * factor + 0.5)
        y = ops.element(x, mode, True)
        torch.testing.assert_close(y, x * factor * 2)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        torch.testing.assert_close(gradient, torch.full_like(x, factor * 2))
