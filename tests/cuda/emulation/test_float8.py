"""8-bit and 4-bit floats in CUDA code: the headers' types in kernels, and CUDA's own as parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.codegen import KernelSource
from opwright.cuda.nvcc import Nvcc
from opwright.cuda.nvrtc import Nvrtc
from opwright.errors import SourceError
from opwright.sources import scan
from opwright.sources.matching import match
from opwright.toolchain import Options

SOURCE = """#include <opwright.h>

template <class T, class Q>
__global__ void quantise_rows(Tensor<const T, 2> x, Tensor<Q, 2> y, Tensor<float, 1> scale) {
  __shared__ float most;
  if (threadIdx.x == 0) {
    most = 0;
    for (int64_t j = 0; j < x.size(1); ++j) most = max(most, abs(float(x(blockIdx.x, j))));
    scale[blockIdx.x] = most / 448;
  }
  __syncthreads();
  for (int64_t j = threadIdx.x; j < x.size(1); j += blockDim.x)
    y(blockIdx.x, j) = float(x(blockIdx.x, j)) / (most / 448);
}

OPWRIGHT("quantise(x: T[M, N], like: Q[0]) -> (y: Q[M, N], scale: f32[M])"
         " where T in (f32, bf16), Q in (f8e4m3fn, f8e5m2)")
template <class T, class Q>
void quantise(Tensor<const T, 2> x, Tensor<const Q, 1>, Tensor<Q, 2> y, Tensor<float, 1> scale, cudaStream_t stream) {
  quantise_rows<<<x.size(0), 32, 0, stream>>>(x, y, scale);
}

OPWRIGHT("widened(x: Q, by: T) -> (y: T) where Q in (f8e4m3fn, f8e5m2fnuz, f8e8m0), T in (f32, bf16)")
template <class Q, class T>
__device__ T widened(Q x, T by) {
  return T(x) * by;
}

OPWRIGHT("unpacked(x: f4x2[N]) -> (y: f32[N, 2]) launch over N, threads 64")
__global__ void unpacked(Tensor<const float4_e2m1fn_x2, 1> x, Tensor<float, 2> y) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) y(i, 0) = x[i].first(), y(i, 1) = x[i].second();
}
"""


@pytest.mark.slow
def test_kernels(tmp_path: Path) -> None:
    (tmp_path / "emulated_float8.cu").write_text(SOURCE)
    ops = opwright.load(tmp_path / "emulated_float8.cu", backend="emulate")
    x = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    scale = x.abs().amax(1) / 448
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        y, got = ops.quantise(x, torch.empty(0, dtype=dtype))
        assert torch.equal(got, scale)
        assert torch.equal(y.float(), (x / scale[:, None]).to(dtype).float())
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2fnuz, torch.float8_e8m0fnu):
        wide = ops.widened(codes.view(dtype), torch.full((256,), 2.0))
        torch.testing.assert_close(wide, 2 * codes.view(dtype).float(), rtol=0, atol=0, equal_nan=True)
    pairs = ops.unpacked(torch.tensor([0x1F], dtype=torch.uint8).view(torch.float4_e2m1fn_x2))
    assert pairs.tolist() == [[-6.0, 0.5]]


def test_cudas_own_types_fit() -> None:
    text = """
    OPWRIGHT("f(a: f8e4m3fn[N], b: f8e5m2[N], c: f8e8m0[N], d: f4x2[N]) -> (y: f32[N]) launch over N, threads 64")
    __global__ void f(const __nv_fp8_e4m3 *a, const __nv_fp8_e5m2 *b, const __nv_fp8_e8m0 *c,
                      const __nv_fp4x2_e2m1 *d, float *y, int64_t N) {}
    """
    (kernel,) = scan(Path("own.cu"), text).kernels
    assert [argument.name for argument in match(kernel)] == ["a", "b", "c", "d", "y", "N"]
    (kernel,) = scan(Path("own.cu"), text.replace("__nv_fp8_e4m3 ", "__nv_fp8_e5m2 ")).kernels
    with pytest.raises(SourceError, match="f8e4m3fn"):
        match(kernel)


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", [Nvrtc(), Nvcc()], ids=["nvrtc", "nvcc"])
def test_compilers_take_them(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := backend.missing():
        pytest.skip(problem)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    path = tmp_path / "compiled_float8.cu"
    path.write_text(SOURCE)
    source = KernelSource(path, Options(), backend=backend)
    for types in source.assignments("cuda", {"float32", "float8_e4m3fn"}):
        source.library(types, device="cuda")
