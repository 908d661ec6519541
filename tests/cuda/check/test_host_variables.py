"""A kernel that gets the address of a host's variable, and those variables that a kernel may read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import opwright

KERNELS = r"""
#include <cstdio>
#include <cstdlib>
__global__ void reads(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x] * 2;  // reads
}
__global__ void writes(float *y) {
  y[threadIdx.x] = 1;  // writes
}
"""
FAULTS = (
    KERNELS
    + r"""
float table[32];  // global
namespace { float hidden[32]; }  // hidden
namespace one::two { static float inner[32], more[32]; }  // inner
struct Pair { float x, y; } ;
Pair pairs[16];  // pairs
int named = 3;  // named
__global__ void names(float *y) {
  y[0] = named;  // names
}
float *of_function(int n) {
  static float kept[32];  // kept
  static const float fixed[32] = {1, 2, 3};  // fixed
  return n ? kept : const_cast<float *>(fixed);
}
int main(int, char **arguments) {
  static float local[32];  // local
  float *y;
  cudaMalloc(&y, 128);
  switch (atoi(arguments[1])) {
    case 0: reads<<<1, 32>>>(table, y); break;
    case 1: reads<<<1, 32>>>(hidden, y); break;
    case 2: reads<<<1, 32>>>(one::two::more, y); break;
    case 3: writes<<<1, 32>>>(&pairs[0].x); break;
    case 4: names<<<1, 32>>>(y); break;
    case 5: writes<<<1, 32>>>(of_function(1)); break;
    case 6: reads<<<1, 32>>>(of_function(0), y); break;
    case 7: writes<<<1, 32>>>(local); break;
    case 8: reads<<<1, 32>>>(one::two::inner, y); break;
  }
  cudaDeviceSynchronize();
}
"""
)
WRONG = [
    ("reads", "table", "global"), ("reads", "(anonymous namespace)::hidden", "hidden"),
    ("reads", "one::two::more", "inner"), ("writes", "pairs", "pairs"), ("names", "named", "named"),
    ("writes", "kept", "kept"), ("reads", "fixed", "fixed"), ("writes", "local", "local"),
    ("reads", "one::two::inner", "inner"),
]  # fmt: skip
RIGHT = (
    KERNELS
    + r"""
#include <typeinfo>
__device__ float device[32];
__constant__ float constant[32];
__managed__ float managed[32];
namespace one { __device__ float inner[32]; static __constant__ float fixed[32] = {1}; }
namespace { __device__ float hidden[32]; }
struct Holder { static __device__ float member[32]; };
__device__ float Holder::member[32];
template <class T> __device__ T of_template[32];
inline __device__ float inlined[32];
constexpr float primes[4] = {2, 3, 5, 7};
static const int sizes[3] = {4, 5, 6};
const int bound = 32;
int on_host = 5;
#ifdef __CUDA_ARCH__
#define CONSTANT __constant__
#else
#define CONSTANT
#endif
CONSTANT float either[2] = {1, 2};
struct Base { __device__ virtual float get() const { return 1; } };
struct Derived : Base { __device__ float get() const override { return either[1]; } };
struct Counted {
  float value = 1;
  Counted() = default;
  Counted(const Counted &other) : value(other.value + 0 * on_host) {}
};
__device__ int next() {
  static int count = 0;
  return atomicAdd(&count, 1);
}
__device__ const char *text(int i) {
  static const char *const all[] = {"a", "b"};
  return all[i % 2];
}
__host__ __device__ int twice(int i) {
  static int kept[2] = {1, 2};
  return kept[i % 2] * 2;
}
__global__ void all(float *y, Counted counted, int n) {
  const int i = threadIdx.x;
  Derived object;
  const Base &base = i % 2 ? static_cast<const Base &>(object) : object;
  y[i] = device[i] + constant[i] + managed[i] + one::inner[i] + one::fixed[i] + hidden[i] + Holder::member[i];
  y[i] += of_template<float>[i] + inlined[i] + primes[i % 4] + sizes[i % 3] + bound + base.get() + next() * 0;
  y[i] += text(i)[0] + twice(i) + counted.value + n;
}
template <class T> T *address(T &of) {
  void *found;
  cudaGetSymbolAddress(&found, of);
  return static_cast<T *>(found);
}
int main() {
  float *y, *x;
  cudaMalloc(&y, 128);
  Counted counted;
  all<<<1, 32>>>(y, counted,
                 on_host);
  cudaGetSymbolAddress((void **)&x, device);
  reads<<<1, 32>>>(x, y);
  writes<<<1, 32>>>(x);
  cudaGetSymbolAddress((void **)&x, one::inner);
  writes<<<1, 32>>>(x);
  writes<<<1, 32>>>(managed);
  cudaDeviceSynchronize();
  on_host += managed[3];
  printf("%d\n", managed[3] == 1);
}
"""
)


def _run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opwright", "emulate", "--check", name, "--", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def _line(mark: str) -> int:
    return 1 + next(i for i, text in enumerate(FAULTS.splitlines()) if text.endswith(f"// {mark}"))


def test_a_variable_of_the_host_is_named(tmp_path: Path) -> None:
    (tmp_path / "faults.cu").write_text(FAULTS)
    for number, (at, name, declared) in enumerate(WRONG):
        ended = _run(tmp_path, "faults.cu", str(number))
        assert ended.returncode == 70, name
        found = re.search(
            r"faults\.cu:(\d+): (?:read|write) of memory that isn't the device's\n.*\n  got: (.*), a variable of the "
            r"host at \S*faults\.cu:(\d+); expected: ",
            ended.stderr,
        )
        assert found, ended.stderr
        assert (int(found[1]), found[2], int(found[3])) == (_line(at), name, _line(declared))


def test_what_a_kernel_may_read_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "right.cu").write_text(RIGHT)
    ended = _run(tmp_path, "right.cu")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")


OPERATOR = """
#include <opwright.h>
__global__ void scaled(int n, const float *x, const float *w, float *y) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i] * w[i % 3];
}
OPWRIGHT("statics(x: f32[N]) -> (y: f32[N])")
void statics(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t s) {
  static const float w[3] = {1, 2, 3};
  scaled<<<1, 32, 0, s>>>(x.numel(), x.data(), w, y.data());
}
__constant__ float weights[3] = {1, 2, 3};
OPWRIGHT("constants(x: f32[N]) -> (y: f32[N])")
void constants(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t s) {
  void *w;
  cudaGetSymbolAddress(&w, weights);
  scaled<<<1, 32, 0, s>>>(x.numel(), x.data(), static_cast<float *>(w), y.data());
}
"""


@pytest.mark.slow
def test_an_operator_that_gives_its_static_variable_to_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "scaled.cu").write_text(OPERATOR)
    ops = opwright.load(tmp_path / "scaled.cu", backend=opwright.emulate(check=True))
    with pytest.raises(opwright.KernelError, match=r"got: w, a variable of the host at \S*scaled\.cu:9"):
        ops.statics(torch.ones(4))
    assert torch.equal(ops.constants(torch.ones(4)), torch.tensor([1.0, 2.0, 3.0, 1.0]))
