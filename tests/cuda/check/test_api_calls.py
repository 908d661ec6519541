"""Calls of CUDA's runtime that fail: which one, where, and why; copies that would leave a tensor."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import opwright

SOURCE = """
#include <opwright.h>
OPWRIGHT("copied(x: f32[N], bytes: int) -> (y: f32[N])")
void copied(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y, cudaStream_t stream) {
  cudaMemcpyAsync(y.data(), x.data(), bytes, cudaMemcpyDeviceToDevice, stream);  // copied
}
OPWRIGHT("read_past(x: f32[N], bytes: int) -> (y: f32[N + 8])")
void read_past(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y) {
  cudaMemcpy(y.data(), x.data() + 2, bytes, cudaMemcpyDefault);  // read_past
}
OPWRIGHT("zeroed(x: f32[N], bytes: int) -> (y: f32[N])")
void zeroed(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y) {
  OPWRIGHT_CUDA_CHECK(cudaMemset(y.data() + 1, 0, bytes));  // zeroed
}
OPWRIGHT("input(x: f32[N], bytes: int) -> (y: f32[N])")
void input(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y) {
  cudaMemset(y.data(), 0, 4 * x.numel());
  cudaMemset(const_cast<float *>(x.data()), 0, bytes);  // input
}
OPWRIGHT("freed_twice(x: f32[N], bytes: int) -> (y: f32[N])")
void freed_twice(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y) {
  float *p;
  cudaMalloc(&p, bytes);
  for (int i = 0; i < 2; ++i) cudaFree(p);  // freed_twice
}
OPWRIGHT("too_much(x: f32[N], bytes: int) -> (y: f32[N])")
void too_much(Tensor<const float, 1> x, int64_t bytes, Tensor<float, 1> y) {
  float *p;
  cudaMalloc(&p, size_t(1) << 60);  // too_much
}
"""
INVALID = "failed: invalid argument (cudaErrorInvalidValue)"
CHECKED = [False, pytest.param(True, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api_calls") / "api_calls.cu"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("check", CHECKED)
@pytest.mark.parametrize(
    ("name", "bytes_", "says"),
    [
        ("copied", 44, f"cudaMemcpyAsync {INVALID}: it writes 44 bytes at byte 0 of tensor y, which has 40"),
        ("read_past", 33, f"cudaMemcpy {INVALID}: it reads 33 bytes at byte 8 of tensor x, which has 40"),
        (
            "zeroed",
            40,
            f"cudaMemset(y.data() + 1, 0, bytes) {INVALID}: it writes 40 bytes at byte 4 of tensor y",
        ),
        ("freed_twice", 8, f"cudaFree {INVALID}: the pointer isn't of cudaMalloc, or was freed before"),
        ("too_much", 8, "cudaMalloc failed: out of memory (cudaErrorMemoryAllocation): it asks for 11529215046068469"),
    ],
)
def test_the_call_that_failed_is_named(source: Path, check: bool, name: str, bytes_: int, says: str) -> None:
    ops = opwright.load(source, namespace=f"api_calls{check}", backend=opwright.emulate(check=check))
    x = torch.arange(10.0)
    with pytest.raises(opwright.KernelError) as caught:
        getattr(ops, name)(x, bytes_)
    assert says in str(caught.value)
    line = 1 + next(i for i, each in enumerate(SOURCE.splitlines()) if each.endswith(f"// {name}"))
    assert f"api_calls.cu:{line}]" in str(caught.value)
    assert torch.equal(ops.copied(x, 40), x)
    assert torch.equal(ops.zeroed(x, 36)[1:], torch.zeros(9))
    assert torch.equal(ops.read_past(x, 32)[:8], x[2:])


@pytest.mark.slow
def test_a_copy_to_an_input_is_one_to_the_checker(source: Path) -> None:
    ops = opwright.load(source, namespace="api_calls_input", backend=opwright.emulate(check=True))
    with pytest.raises(opwright.KernelError, match=r"cudaMemset failed: .* it writes to tensor x, an input"):
        ops.input(torch.ones(4), 8)


PROGRAM = """
__global__ void k(const float *a, float *b, int n) { int i = threadIdx.x; if (i < n) b[i] = a[i] + 1; }
int main(int argc, char **argv) {
  float *a, *b, *both, host[64] = {}, after[64];
  const int which = atoi(argv[1]);
  cudaMalloc(&a, 256);
  cudaMalloc(&b, 256);
  cudaMallocManaged(&both, 256);
  for (int i = 0; i < 64; ++i) both[i] = float(i);
  cudaMemcpy(a, host, 256, cudaMemcpyHostToDevice);
  if (which == 0) k<<<1, 64>>>(both, b, 64), k<<<1, 64>>>(b, a, 64);
  if (which == 1) k<<<1, 65>>>(a, b, 65);
  if (which == 2) k<<<1, 64>>>(host, b, 64);
  if (which == 3) k<<<1, 64>>>(b, a, 64);
  if (which == 4) cudaMemcpy(b, host, 260, cudaMemcpyHostToDevice);
  if (which == 5) after[0] = a[1];
  if (which == 6) k<<<1, 63>>>(a, b, 63), k<<<1, 64>>>(b, a, 64);
  cudaMemcpy(after, a, 256, cudaMemcpyDeviceToHost);
  printf("%g\\n", after[63]);
}
"""
NOBODY = r"error: {file}:2: read of memory that nobody has written\n.*\n  got: 4 bytes, "


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "status", "says"),
    [
        (0, 0, ""),
        (
            1,
            70,
            r"error: {file}:2: out of bounds read\n.*\n.* at byte 256 of the memory of cudaMalloc at {file}:6",
        ),
        (2, 70, r"error: {file}:2: read of memory that isn't the device's"),
        (3, 70, NOBODY + "byte 0 of the memory of cudaMalloc at {file}:7,"),
        (
            4,
            0,
            r"warning: {file}:15: cudaMemcpy fails, cudaErrorInvalidValue: it writes 260 bytes at byte 0 of",
        ),
        (
            5,
            70,
            r"error: {file}:16: the host touches memory of the device\n.*\n  got: a read of 4 bytes, byte 4 of",
        ),
        (6, 70, NOBODY + "byte 252 of the memory of cudaMalloc at {file}:7,"),
    ],
)
def test_programs(tmp_path: Path, which: int, status: int, says: str) -> None:
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "opwright", "emulate", "--check", str(path), "--", str(which)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status, done.stderr
    assert done.stdout == ("" if status else "65\n" if which == 0 else "0\n")
    assert re.search(says.format(file=re.escape(str(path))), done.stderr), done.stderr
