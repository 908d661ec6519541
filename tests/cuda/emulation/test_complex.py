"""Complex numbers in CUDA code: emulated, and compiled by what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.codegen import KernelSource
from opwright.cuda.nvcc import Nvcc
from opwright.cuda.nvrtc import Nvrtc
from opwright.toolchain import Options

SOURCE = """#include <opwright.h>

OPWRIGHT("mixed(x: T[N], y: T[N]) -> (z: T[N]) where T in (c64, c128) launch over N, threads 64")
template <class T>
__global__ void mixed(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) z[i] = exp(x[i]) * conj(y[i]) + log(x[i]);
}

OPWRIGHT("wave(x: T, y: T) -> (z: T) where T in (f32, c64, c128)")
template <class T>
__device__ T wave(T x, T y) {
  return sin(x) * y + tanh(y) / 2;
}

OPWRIGHT("summed(x: T[N], total: T[]!) where T in (c64, c128) launch over N, threads 64")
template <class T>
__global__ void summed(Tensor<const T, 1> x, Tensor<T, 0> total) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) atomic_add(total(), x[i]);
}
"""


@pytest.mark.slow
def test_emulated(tmp_path: Path) -> None:
    (tmp_path / "emulated_complex.cu").write_text(SOURCE)
    ops = opwright.load(tmp_path / "emulated_complex.cu", backend="emulate")
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(100, dtype=torch.complex128, generator=generator) for _ in range(2))
    torch.testing.assert_close(ops.mixed(x, y), x.exp() * y.conj() + x.log())
    torch.testing.assert_close(ops.wave(x, y), x.sin() * y + y.tanh() / 2)
    narrow = x.to(torch.complex64)
    torch.testing.assert_close(ops.wave(narrow, narrow), narrow.sin() * narrow + narrow.tanh() / 2)
    total = torch.zeros((), dtype=torch.complex128)
    ops.summed(x, total)
    torch.testing.assert_close(total, x.sum())
    leaves = [each[:3].clone().requires_grad_() for each in (x, y)]
    assert torch.autograd.gradcheck(ops.wave, leaves)


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", [Nvrtc(), Nvcc()], ids=["nvrtc", "nvcc"])
def test_compilers_take_them(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := backend.missing():
        pytest.skip(problem)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    path = tmp_path / "compiled_complex.cu"
    path.write_text(SOURCE)
    source = KernelSource(path, Options(), backend=backend)
    for types in source.assignments("cuda", {"complex64", "complex128"}):
        source.library(types, device="cuda")
