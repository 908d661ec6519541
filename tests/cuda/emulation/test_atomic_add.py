"""``atomic_add`` in CUDA code: emulated, and compiled by what there is."""

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

OPWRIGHT("counted(x: T[N], at: i64[N], zeros: T[M]!) where T in (f32, f64, f16, bf16, i8, i16, i32, i64)"
         " launch over N, threads 64")
template <class T>
__global__ void counted(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, Tensor<T, 1> zeros) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= x.size(0)) return;
  if (i % 2) atomic_add(&zeros[at[i]], x[i]);
  else atomic_add(zeros(at[i]), x[i]);
}
"""
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.slow
@pytest.mark.parametrize("check", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_emulated(tmp_path: Path, check: bool) -> None:
    (tmp_path / "emulated_atomic.cu").write_text(SOURCE.replace("", ""))
    ops = opwright.load(tmp_path / "emulated_atomic.cu", backend=opwright.emulate(check=check))
    at = torch.arange(300) % 3
    for dtype in TYPES[:5] if check else TYPES:
        zeros = torch.zeros(3).to(dtype)
        ops.counted(torch.ones(300).to(dtype), at, zeros)
        assert zeros.tolist() == [100] * 3, dtype


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", [Nvrtc(), Nvcc()], ids=["nvrtc", "nvcc"])
def test_compilers_take_it(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if problem := backend.missing():
        pytest.skip(problem)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    path = tmp_path / "compiled_atomic.cu"
    path.write_text(SOURCE.replace("", ""))
    source = KernelSource(path, Options(), backend=backend)
    for types in source.assignments("cuda", {str(dtype).removeprefix("torch.") for dtype in TYPES}):
        source.library(types, device="cuda")
