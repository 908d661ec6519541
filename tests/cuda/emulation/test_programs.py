"""CUDA texts, built and run on the CPU."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate, order, workers
from opwright.errors import CompileError
from opwright.toolchain import Options, line_directive

from .conftest import HEAD, Build, build_at

TEXT = r"""
#define LAUNCH(kernel, ...) do { kernel<<<2, 32>>>(__VA_ARGS__); } while (0)
namespace ns {
template <class T, int N> __global__ void scale(const T *x, T *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * N;
}
template <class T> struct Family { template <int N> static __global__ void add(T *y) { y[threadIdx.x] += N; } };
}
EXPORT void launches(const float *x, float *y, int n) {
  ns::scale<float, (3 > 2) ? 5 : 7><<<dim3((n + 63) / 64), 64>>>(x, y, n);
  void (*by_pointer)(float *) = ns::Family<float>::template add<1>;
  by_pointer<<<1, n, 0, NULL>>>(y);
  struct { void (*f)(float *); } table[1] = {{by_pointer}};
  if (n) table[0].f<<<{1}, {unsigned(n), 1, 1}, 0, 0>>>(y);
  auto run = [&] { LAUNCH(ns::Family<float>::add<4>, y); };
  run();
  void *arguments[] = {&y};
  cudaLaunchKernel((const void *)by_pointer, dim3(1), dim3(32), arguments, 0, 0);
}

__global__ void optional(float *y, const float *x, int n) { y[threadIdx.x] = x ? x[threadIdx.x] : n; }
EXPORT int evaluated_once(float *y) {
  int count = 0;
  optional<<<1, 8>>>((++count, y), 0, count++ * 0 + 6);
  optional<<<1, 8>>>(y + 8, NULL, 7);
  return count;
}

extern __shared__ __align__(16) unsigned char everywhere[];
template <class T> __global__ void reversed(const T *x, T *y) {
  T *s = reinterpret_cast<T *>(everywhere);
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
EXPORT void reverse_floats(const float *x, float *y, int n) { reversed<<<1, n, n * sizeof(float)>>>(x, y); }
EXPORT void reverse_doubles(const double *x, double *y, int n) { reversed<<<1, n, n * sizeof(double)>>>(x, y); }

template <int N> __global__ void block_sum(const float *x, float *y, int n) {
  __shared__ struct __align__(8) { float sums[N / 32]; int count; } shared;
  __shared__ float total;
  float v = 0;
  for (int i = threadIdx.x; i < n; i += N) v += x[i];
#pragma unroll
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (threadIdx.x % 32 == 0) shared.sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) { total = 0; for (float s : shared.sums) total += s; }
  __syncthreads();
  y[threadIdx.x] = total;
}
EXPORT void sum(const float *x, float *y, int n) { block_sum<128><<<1, 128>>>(x, y, n); }

__global__ void __launch_bounds__(1024)
    transposed(const float *__restrict__ x, float *__restrict__ y, int rows, int columns) {
  __shared__ float tile[16][17];
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
  __syncthreads();
  c = blockIdx.y * 16 + threadIdx.x, r = blockIdx.x * 16 + threadIdx.y;
  if (r < columns && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
EXPORT void transpose(const float *x, float *y, int rows, int columns) {
  transposed<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x, y, rows, columns);
}

__global__ void by_lambda(const float *x, float *y) {
  __shared__ float s[32];
  extern __shared__ float t[];
  auto store = [=](float v) mutable -> void { s[threadIdx.x] = v; t[threadIdx.x] = 2 * v; };
  auto load = [=](int i) { return s[i] + t[i]; };
  auto by_reference = [&](int i) { return s[i]; };
  store(x[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = load(31 - threadIdx.x) + by_reference(threadIdx.x);
}
EXPORT void lambdas(const float *x, float *y) { by_lambda<<<1, 32, 32 * sizeof(float)>>>(x, y); }

__constant__ float coefficients[3];
__device__ int counter = 0;
static __forceinline__ __device__ float polynomial(float x) {
  return coefficients[0] + x * (coefficients[1] + x * coefficients[2]);
}
__global__ void evaluate(const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = polynomial(x[i]), atomicAdd(&counter, 1);
}
EXPORT int constants(const float *x, float *y, int n) {
  const float host[] = {1, 2, 3};
  int counted = 0;
  cudaMemcpyToSymbol(coefficients, host, sizeof host);
  evaluate<<<(n + 31) / 32, 32>>>(x, y, n);
  cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
  return counted;
}

__global__ void order_of(int *out, int *next) { out[atomicAdd(next, 1)] = blockIdx.x; }
EXPORT void blocks(int *out, int n) { int next = 0; order_of<<<n, 1>>>(out, &next); }

__device__ __host__ int twice(int x) { return 2 * x; }
EXPORT int host_side(int x) { return twice(x) + warpSize; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_at(tmp_path_factory.mktemp("programs") / "programs.cu", TEXT)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_launches_of_every_kind(library: ctypes.CDLL) -> None:
    x, y = random(32), np.zeros(32, np.float32)
    library.launches(pointer(x), pointer(y), 32)
    np.testing.assert_allclose(y, 5 * x + 1 + 1 + 2 * 4 + 1, rtol=1e-6)


def test_arguments_are_evaluated_once(library: ctypes.CDLL) -> None:
    y = np.zeros(16, np.float32)
    assert library.evaluated_once(pointer(y)) == 2
    assert y.tolist() == [6] * 8 + [7] * 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dynamic_shared_memory_outside_of_functions(library: ctypes.CDLL, dtype: type) -> None:
    x: np.ndarray = np.arange(100, dtype=dtype)
    y = np.zeros_like(x)
    (library.reverse_floats if dtype is np.float32 else library.reverse_doubles)(pointer(x), pointer(y), 100)
    assert (y == x[::-1]).all()


@pytest.mark.parametrize("kind", ["forward", "reverse", "random"])
def test_shared_memory_and_shuffles_in_every_order(library: ctypes.CDLL, kind: str) -> None:
    x, y = random(1000), np.zeros(128, np.float32)
    with order(kind, seed=3):
        library.sum(pointer(x), pointer(y), 1000)
    np.testing.assert_allclose(y, np.full(128, x.astype(np.float64).sum()), rtol=1e-4)


def test_lambdas_capture_no_shared_variables(library: ctypes.CDLL) -> None:
    x, y = random(32), np.zeros(32, np.float32)
    library.lambdas(pointer(x), pointer(y))
    np.testing.assert_allclose(y, 3 * x[::-1] + x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 3])
def test_two_dimensional_blocks(library: ctypes.CDLL, count: int) -> None:
    x, y = random(70, 45), np.zeros((45, 70), np.float32)
    with workers(count):
        library.transpose(pointer(x), pointer(y), 70, 45)
    assert (y == x.T).all()


def test_variables_of_the_device(library: ctypes.CDLL) -> None:
    x, y = random(100), np.zeros(100, np.float32)
    assert library.constants(pointer(x), pointer(y), 100) == 100
    np.testing.assert_allclose(y, 1 + 2 * x + 3 * x * x, rtol=1e-5, atol=1e-6)


def test_host_code_uses_device_functions(library: ctypes.CDLL) -> None:
    assert library.host_side(21) == 42 + 32


def test_the_order_of_blocks(library: ctypes.CDLL) -> None:
    def run(kind: str, seed: int = 0) -> list[int]:
        out = np.zeros(50, np.int32)
        with workers(1), order(kind, seed):
            library.blocks(pointer(out), 50)
        return [int(number) for number in out.tolist()]

    assert run("forward") == list(range(50))
    assert run("reverse") == list(range(50))[::-1]
    assert sorted(run("random", 1)) == list(range(50))
    assert run("random", 1) == run("random", 1) != run("random", 2)


def test_an_order_or_a_number_of_workers_that_is_none() -> None:
    with (
        pytest.raises(ValueError, match="order\\('sideways'\\) names no order, expected one of 'forward'"),
        order("sideways"),
    ):
        pass
    with pytest.raises(ValueError, match="workers\\(-1\\) is negative"), workers(-1):
        pass


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("__global__ void k(int *x) {\n  *x = undefined;\n}", 2, "'undefined' was not declared"),
        ("__global__ void k(int x) {}\nvoid f(int *p) {\n  k<<<1, 1>>>(p);\n}", 3, "invalid conversion from 'int*'"),
        ("__global__ void k(float *y) {\n  __shared__ float s[4];\n  s[0] = s;\n}", 3, "cannot convert"),
        (
            "__global__ void k(float *y) {\n  *y = tex2DLod<float>(3ull, 1.f, 2.f, 0.f);\n}",
            2,
            "mipmaps can't be emulated (tex2DLod); likely fix: an array of one level, and tex2D",
        ),
        (
            "__global__ void k(float *y) {\n  *y = texCubemap<float>(3ull, 1.f, 2.f, 0.f);\n}",
            2,
            "cubemaps can't be emulated (texCubemap); likely fix: an array of six layers",
        ),
        (
            "__global__ void k(float *y, bool *there) {\n  *y = tex2D<float>(3ull, 1.f, 2.f, there);\n}",
            2,
            "sparse arrays can't be emulated (tex2D); likely fix: an array without cudaArraySparse",
        ),
        (
            "int n;\n__global__ void __cluster_dims__(2, 1, 1) k(float *y) {}",
            2,
            "thread block clusters can't be emulated (__cluster_dims__); likely fix: a kernel without them",
        ),
        (
            "int n;\n__cluster_dims__(2) __global__ void k(float *y) {}",
            2,
            "thread block clusters can't be emulated (__cluster_dims__); likely fix: a kernel without them",
        ),
        (
            "__global__ void k(double *y) {\n  *y = tex1D<double>(3ull, 1.f);\n}",
            2,
            "a texture has no values of this type; its types are char",
        ),
        (
            "__global__ void k(float3 *y) {\n  *y = surf1Dread<float3>(3ull, 1);\n}",
            2,
            "a surface is read and written in values of 1, 2, 4, 8 or 16 bytes",
        ),
        ("\n#include <mma.h>", 2, "tensor core fragments"),
    ],
)
def test_errors_name_the_authors_line(build: Build, text: str, line: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        build(text)
    first = str(caught.value).splitlines()[0]
    assert re.search(rf"k\.cu:{line}(:\d+)?: error: ", first), str(caught.value)
    assert message.replace("'", "") in str(caught.value).replace("'", "")


def test_debuggers_find_the_authors_lines(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    kernel = "__global__ void k(int *x) {\n  __shared__ int s\n[4];\n  s[0] = 1;\n  *x = s[0]; }"
    path.write_text(f"{kernel}\nvoid f(int *x) {{ k<<<1,\n1>>>(x); }}\n{HEAD}EXPORT int here(int x) {{ return x; }}\n")
    text = CudaText("k", f"{line_directive(path)}\n{path.read_text()}", path)
    library = Emulate().build(text, Options(extra_cflags=("-g",)))
    symbols = subprocess.run(
        [str(shutil.which("nm")), library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    address = next(line.split()[0] for line in symbols if line.endswith(" here"))
    place = subprocess.run(
        [str(shutil.which("addr2line")), "-e", library, address], capture_output=True, text=True, check=True
    ).stdout
    assert place.split()[0] == f"{path}:9"
