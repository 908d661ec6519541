"""`half` beside cuda_fp16.h is CUDA's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

import opwright
from opwright.codegen import KernelSource
from opwright.codegen.library import half_of_cuda, missed_by_float16
from opwright.cuda import find_backend
from opwright.cuda.nvrtc import Nvrtc
from opwright.cuda.nvrtc.discovery import find_nvrtc
from opwright.errors import CompileError
from opwright.signature import DType
from opwright.sources.cpp.directives import includes
from opwright.toolchain import Options, header_dir

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
@pytest.mark.parametrize("header", ["cuda_fp16.h", "cuda_bf16.h"])
@pytest.mark.parametrize("name", ["nvcc", "nvrtc", "emulate"])
def test_cudas_own_halves(name: str, header: str, write: Write) -> None:
    if name == "nvcc" and not shutil.which("nvcc"):
        pytest.skip("no nvcc on the PATH")
    if name == "nvrtc" and (problem := Nvrtc().missing()):
        pytest.skip(problem)
    text = HALVES.replace("cuda_fp16.h", header)
    source = KernelSource(write(text, "own_halves.cu"), Options(), backend=find_backend(name))
    path = source.library({"T": DType.F16}, device="cuda")
    assert path.endswith(".so")


def including(headers: set[str], folder: Path, patterns: Sequence[str]) -> set[str]:
    """The files of a folder that include one of the headers, directly or not, whatever the conditions."""
    users: dict[str, set[str]] = {}
    for file in (file for pattern in patterns for file in folder.glob(pattern) if file.is_file()):
        path = os.path.relpath(file, folder)
        for include in includes(file.read_text(errors="replace")):
            near = os.path.normpath(os.path.join(os.path.dirname(path), include.name))
            name = near if include.quoted and (folder / near).is_file() else os.path.normpath(include.name)
            users.setdefault(name, set()).add(path)
    found, waiting = set[str](), [*headers]
    while waiting:
        new = users.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_half_is_cudas_beside_each_emulated_header_that_includes_its_own() -> None:
    found = including({"cuda_fp16.h"}, header_dir() / "opwright" / "emulation" / "shadow", ["**/*"])
    assert {"cuda_bf16.h", "cuda_fp8.h", "cublas_v2.h", "cublasLt.h"} <= found
    assert [name for name in sorted(found) if not half_of_cuda([name])] == []


def test_half_is_cudas_beside_each_header_of_cuda_that_includes_its_own() -> None:
    if problem := Nvrtc().missing():
        pytest.skip(problem)
    folder = Path(find_nvrtc().include_dirs[0])
    own = {file.name for file in folder.glob("*.h")}
    found = including({"cuda_fp16.h", "cuda/std/type_traits"}, folder, ["*.h", "cooperative_groups/**/*.h"])
    assert {"cuda_bf16.h", "cuda_fp8.h", "cooperative_groups.h"} <= found
    assert [name for name in sorted(found) if not half_of_cuda([name])] == []
    assert [name for name in sorted(own - found - {"cuda_fp16.h", "mma.h"}) if half_of_cuda([name])] == []


@pytest.mark.parametrize("header", ["cub/cub.cuh", "cuda/std/limits", "cuda/barrier", "mma.h", "cusparse.h"])
def test_half_is_cudas_beside_headers_that_are_not_in_every_package(header: str) -> None:
    assert half_of_cuda(["vector", header]) == "#define OPWRIGHT_CUDA_HALF\n"


@pytest.mark.parametrize("header", ["cuda_runtime.h", "curand.h", "cufft.h", "cudnn.h", "cuda/helpers.h", "my_mma.h"])
def test_half_is_opwrights_beside_other_headers(header: str) -> None:
    assert half_of_cuda([header]) == ""


def test_halves_of_cuda_by_the_header_of_bfloat16(write: Write) -> None:
    ops = opwright.load(write(HALVES.replace("cuda_fp16.h", "cuda_bf16.h"), "halves_by_bf16.cu"), backend="emulate")
    x = torch.linspace(-2, 2, 100, dtype=torch.float16)
    assert torch.equal(ops.viewed(x), 3 * x)


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


SPECIALISED = """#include <cuda_fp16.h>
template <class T> __device__ float number(T v) { return 100; }
template <> __device__ float number<half>(half v) { return __half2float(v); }
OPWRIGHT("twice(x: T[N]) -> (y: T[N]) where T in (f16, f32) launch over N, threads 64")
template <class T> __global__ void twice(int N, const T *x, T *y) {
  if (threadIdx.x < N) y[threadIdx.x] = T(2 * number(x[threadIdx.x]));
}
"""
FOR_FLOAT16 = "template <> __device__ float number<float16>(float16 v) { return v; }\n"


def test_a_specialisation_for_cudas_half_alone_is_warned_of(write: Write) -> None:
    source = KernelSource(write(SPECIALISED, "specialised.cu"), Options(), backend=find_backend("emulate"))
    with pytest.warns(UserWarning, match="specialised") as caught:
        source.cuda_text({"T": DType.F16})
    assert str(caught[0].message) == (
        f"{source.path}: number is specialised for CUDA's half and not for float16: a type variable such as T is "
        "Opwright's float16 for f16, for which the general template is used\n"
        "  likely fix: specialise it for float16, too, as `template <> ... number<float16>`"
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (SPECIALISED, DType.F32),
        (SPECIALISED.replace("OPWRIGHT", FOR_FLOAT16 + "OPWRIGHT"), DType.F16),
        (SPECIALISED.replace("#include <cuda_fp16.h>", ""), DType.F16),
    ],
)
def test_no_warning_where_no_specialisation_is_missed(text: str, dtype: DType, write: Write) -> None:
    source = KernelSource(write(text, "specialised.cu"), Options(), backend=find_backend("emulate"))
    assert "number" in source.cuda_text({"T": dtype}).text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("template <> struct Of<__half> { int x; }; template <> struct Of<float> {};", ["Of"]),
        ("template <int N> struct Of<half, N> {}; template <> struct my::With<const half *> {};", ["Of", "With"]),
        ("template <> struct Of<half> {}; template <> struct Of<opwright::float16> {};", []),
        ("template <> __device__ float f(half x);", ["f"]),
        ("template <> __global__ void __launch_bounds__(256) f<half>(half *p) {}", ["f"]),
        ("template <> vec<half> f<half, 3>(half x) {} template <> vec<float16> f<float16, 3>(float16 x) {}", []),
        ("template <class T> struct Of { half x; }; template <class T> void f(half x, T y) {}", []),
        ("template <> struct Of<half2> {}; template <class T, class = of<half>> void f(T x) { g<half>(x); }", []),
        ("// template <> struct Of<half> {};", []),
    ],
)
def test_which_specialisations_float16_misses(text: str, names: list[str]) -> None:
    assert missed_by_float16(text) == names
