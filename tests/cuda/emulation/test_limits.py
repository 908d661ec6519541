"""What a GPU has no room for is refused here, too."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda.emulation import order

SHARED = """
#include <opwright.h>
__global__ void turned(const float *x, float *y) {
  extern __shared__ float all[];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = all[63 - threadIdx.x];
}
OPWRIGHT("turn(x: f32[64], bytes: int, allowed: int) -> (y: f32[64])")
void turn(Tensor<const float, 1> x, int64_t bytes, int64_t allowed, Tensor<float, 1> y, cudaStream_t stream) {
  if (allowed)
    OPWRIGHT_CUDA_CHECK(cudaFuncSetAttribute(turned, cudaFuncAttributeMaxDynamicSharedMemorySize, int(allowed)));
  turned<<<1, 64, bytes, stream>>>(x.data(), y.data());
}
"""

STACK = """
#include <opwright.h>
OPWRIGHT("small(x: f32[N]) -> (y: f32[N]) launch over N, threads 1024")
__global__ void small(int N, const float *x, float *y) {
  __syncthreads();
  if (threadIdx.x < N) y[threadIdx.x] = x[threadIdx.x];
}
OPWRIGHT("large(x: f32[64]) -> (y: f32[64]) launch over 64, threads 64")
__global__ void large(const float *x, float *y) {
  volatile float local[40000];
  local[0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = local[0];
}
"""


def test_more_shared_memory_than_a_kernel_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "shared.cu").write_text(SHARED)
    ops = opwright.load(tmp_path / "shared.cu", namespace="limits_shared", backend="emulate")
    x = torch.arange(64.0)
    assert torch.equal(ops.turn(x, 48 * 1024, 0), x.flip(0))
    with pytest.raises(opwright.KernelError, match=r"at most \d+ bytes of dynamic shared memory") as caught:
        ops.turn(x, 160 * 1024, 0)
    assert "the launch asks for 163840" in str(caught.value)
    assert "likely fix: cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize" in str(caught.value)
    assert torch.equal(ops.turn(x, 160 * 1024, 160 * 1024), x.flip(0))
    with pytest.raises(opwright.KernelError, match="cudaErrorInvalidValue"):
        ops.turn(x, 64, 1 << 20)
    assert torch.equal(ops.turn(x, 64 * 4, 0), x.flip(0))  # the error was that call's


def test_an_array_that_is_larger_than_a_stack_never_lies_in_another_threads(tmp_path: Path) -> None:
    (tmp_path / "stack.cu").write_text(STACK)
    ops = opwright.load(tmp_path / "stack.cu", namespace="limits_stack", backend="emulate")
    for kind in ("forward", "reverse"):
        with order(kind):
            ops.small(torch.ones(8))  # between them, all stacks get memory, which they keep
    with pytest.raises(opwright.KernelError, match="a thread has used up its stack"):
        ops.large(torch.arange(64.0))
