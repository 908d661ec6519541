"""`half` beside cuda_fp16.h is CUDA's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.codegen import KernelSource
from opwright.cuda import find_backend
from opwright.cuda.nvrtc import Nvrtc
from opwright.errors import CompileError
from opwright.signature import DType
from opwright.toolchain import Options

Write = Callable[..., Path]

HALVES = """#include <cuda_fp16.h>
OPWRIGHT("twice(x: f16[N]) -> (y: f16[N]) launch over N, threads 64")
__global__ void twice(int N, const __half *x, half *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N && i < INT_MAX) y[i] = __hadd(x[i], x[i]);
}
OPWRIGHT("viewed(x: f16[N]) -> (y: f16[N]) launch over N, threads 64")
__global__ void viewed(Tensor<const half, 1> x, Tensor<half, 1> y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0)) y[i] = __hmul(x[i], __float2half(3.f));
}
__global__ void sum(const half *x, half *y, int n) {
  acc<half> s = 0;
  for (int i = 0; i < n; ++i) s += __half2float(x[i]);
  *y = __float2half(s);
}
OPWRIGHT("summed(x: f16[N]) -> (y: f16[1])")
void summed(Tensor<const half, 1> x, Tensor<half, 1> y) { sum<<<1, 1>>>(x.data(), y.data(), int(x.numel())); }
OPWRIGHT("of_any(x: T[N]) -> (y: T[N]) where T in (f16, f32) launch over N, threads 64")
template <class T>
__global__ void of_any(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0)) y[i] = 3 * x[i] + 1;
}
"""


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nvcc", "nvrtc", "emulate"])
def test_cudas_own_halves(name: str, write: Write) -> None:
    if name == "nvcc" and not shutil.which("nvcc"):
        pytest.skip("no nvcc on the PATH")
    if name == "nvrtc" and (problem := Nvrtc().missing()):
        pytest.skip(problem)
    source = KernelSource(write(HALVES, "own_halves.cu"), Options(), backend=find_backend(name))
    path = source.library({"T": DType.F16}, device="cuda")
    assert path.endswith(".so")


def test_halves_of_cuda_where_the_source_includes_their_header(write: Write) -> None:
    ops = opwright.load(write(HALVES, "halves_of_cuda.cu"), backend="emulate")
    x = torch.linspace(-2, 2, 100, dtype=torch.float16)
    assert torch.equal(ops.twice(x), x + x)
    assert torch.equal(ops.viewed(x), 3 * x)
    assert torch.equal(ops.of_any(x), (3 * x.float() + 1).half())
    torch.testing.assert_close(ops.summed(x[50:]), x[50:].float().sum(0, keepdim=True).half())


def test_halves_of_cuda_by_a_header_of_the_authors(write: Write) -> None:
    write("#pragma once\n#include <cuda_fp16.h>\n#define TWICE(x) __hadd(x, x)\n", "with_halves.cuh")
    text = """#include "with_halves.cuh"
    OPWRIGHT("twice(x: f16[N]) -> (y: f16[N]) launch over N, threads 64")
    __global__ void twice(int N, const half *x, half *y) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < N) y[i] = TWICE(x[i]);
    }"""
    x = torch.arange(9.0).half()
    assert torch.equal(opwright.load(write(text, "halves_by_header.cu"), backend="emulate").twice(x), 2 * x)


def test_two_types_named_half_say_what_to_include(write: Write) -> None:
    write("#include <cuda_fp16.h>\n", "hidden_halves.cuh")
    text = """#define HEADER "hidden_halves.cuh"
    #include HEADER
    OPWRIGHT("same(x: f16[N]) -> (y: f16[N]) launch over N, threads 64")
    __global__ void same(int N, const half *x, half *y) { if (threadIdx.x < N) y[threadIdx.x] = x[threadIdx.x]; }"""
    with pytest.raises(CompileError, match=r"both have a half: include cuda_fp16\.h in the source itself, and half is"):
        opwright.load(write(text, "hidden_halves.cu"), backend="emulate").same(torch.ones(3).half())
