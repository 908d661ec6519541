"""What can't be split into two halves is said, with the place and with nvcc as the way out."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cuda.nvrtc.device_half import device_half
from opwright.cuda.nvrtc.host_half import host_half
from opwright.errors import CompileError, UnsupportedError

Build = Callable[..., Path]

KERNEL = "template <class F> __global__ void apply(float *p, F f) { *p = f(*p); }\n"


@pytest.mark.parametrize("marks", ["__device__", "__host__ __device__"])
def test_an_extended_lambda(build: Build, marks: str) -> None:
    text = f"{KERNEL}void g(float *p) {{\n  apply<<<1, 1>>>(p, [=] {marks} (float x) {{ return x; }});\n}}\n"
    with pytest.raises(UnsupportedError) as caught:
        build(text, name="lambda.cu")
    said = str(caught.value)
    assert re.match(r"\S+/lambda\.cu:3: a lambda that is marked __device__ in host code can't be split", said)
    assert (
        "likely fix: write a struct with a __device__ operator() outside of the function; or build it with nvcc" in said
    )


def test_a_lambda_within_a_kernel_is_none(build: Build) -> None:
    kernel = "__global__ void k(float *p) { auto f = [=] __device__ (float x) { return x; }; *p = f(*p); }\n"
    assert build(f"{kernel}void g() {{ k<<<1, 1>>>(0); }}\n").is_file()


def test_a_local_type_as_a_template_argument(build: Build) -> None:
    local = "struct Local { __host__ __device__ float operator()(float x) const { return x; } };"
    with pytest.raises(UnsupportedError) as caught:
        build(f"{KERNEL}void g(float *p) {{ {local} apply<<<1, 1>>>(p, Local()); }}\n")
    assert (
        "the kernel void apply<g(float*)::Local>(float*, g(float*)::Local) has a type that is local to a function among"
        in str(caught.value)
    )
    assert "likely fix: move the type out of the function, to where it has a name; or build it with nvcc" in str(
        caught.value
    )


@pytest.mark.parametrize("space", ["__constant__", "__device__"])
def test_the_host_reads_a_variable_of_the_devices(build: Build, space: str) -> None:
    text = f"{space} float table[4];\n__global__ void k(float *p) {{ *p = table[1]; }}\n"
    with pytest.raises(CompileError) as caught:
        build(f"{text}float g() {{ k<<<1, 1>>>(nullptr); return table[2]; }}\n", name="table.cu")
    said = str(caught.value)
    assert re.match(r"\S+/table\.cu:3:\d+: error: 'table' was not declared", said)
    assert "table lies on the device alone: NVRTC's host half can neither read nor write it" in said
    assert 'likely fix: pass what the kernel needs as an argument; or build it with nvcc: backend="nvcc"' in said


UNCOVERED = """
#include <cuda_runtime.h>
#include <opwright/check.h>
#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLED(...) do { if (cudaError_t e = __VA_ARGS__) printf("%d", int(e)); } while (0)
#include <stdio.h>
__constant__ float table[4], scale;
namespace of { __device__ int counter; struct Held { static __device__ float field; }; }
__global__ void k(float *p) { *p = table[1] * scale + of::counter; }
static opwright::Failure kept;
static const char *of_calling(void (*function)()) {
  try {
    function();
  } catch (const opwright::Failure &failure) {
    return (kept = failure).message.text();
  }
  return "";
}
struct Aggregate { float a[4]; };
static void *nowhere; static float *floats, h[4]; static const Aggregate *aggregates; static size_t n; static int i;
EXPORTED int plain(int x) { return k<<<1, 1>>>(floats), 2 * x; }
"""
CALLS = {
    "cudaMallocHost(&nowhere, 16)": "cudaMallocHost",
    "cudaMallocHost(&floats, 16)": "cudaHostAlloc",
    "cudaMallocHost(&floats, 16, cudaHostAllocMapped)": "cudaHostAlloc",
    "cudaMallocHost((void **)&floats, 16)": "cudaMallocHost",
    "cudaHostAlloc(&aggregates, 16, cudaHostAllocDefault)": "cudaHostAlloc",
    "cudaHostGetDevicePointer(&floats, h, 0)": "cudaHostGetDevicePointer",
    "cudaMallocManaged(&floats, 16)": "cudaMallocManaged",
    "cudaMallocPitch(&floats, &n, 16, 16)": "cudaMallocPitch",
    "cudaMallocFromPoolAsync(&floats, 16, nullptr, nullptr)": "cudaMallocFromPoolAsync",
    "cudaFreeHost(floats)": "cudaFreeHost",
    "cudaMemcpy2D(floats, 16, h, 16, 16, 1, cudaMemcpyDefault)": "cudaMemcpy2D",
    "cudaStreamAttachMemAsync(nullptr, floats)": "cudaStreamAttachMemAsync",
    "cudaGetDeviceProperties((cudaDeviceProp *)nowhere, 0)": "cudaGetDeviceProperties",
    "cudaGraphInstantiate((cudaGraphExec_t *)&nowhere, nullptr, nullptr, nullptr, 0)":
        "cudaGraphInstantiate",
    "cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1)": "cudaFuncSetCacheConfig",
    "cudaFuncSetSharedMemConfig(k, cudaSharedMemBankSizeEightByte)": "cudaFuncSetSharedMemConfig",
    "cudaOccupancyAvailableDynamicSMemPerBlock(&n, k, 1, 32)": "cudaOccupancyAvailableDynamicSMemPerBlock",
    "cudaOccupancyMaxActiveClusters(&i, k, (const cudaLaunchConfig_t *)nowhere)": "cudaOccupancyMaxActiveClusters",
    "cudaLaunchKernelEx((const cudaLaunchConfig_t *)nowhere, k, floats)":
        "cudaLaunchKernelExC, which a function of cuda_runtime.h calls,",
    "cudaMemcpyToSymbol(table, h, sizeof(table))": "cudaMemcpyToSymbol",
    "cudaMemcpyToSymbol<float>(scale, h, sizeof(float) * 1, 0, cudaMemcpyHostToDevice)": "cudaMemcpyToSymbol",
    "cudaMemcpyToSymbolAsync(scale, h, 4, 0, cudaMemcpyDefault, 0)": "cudaMemcpyToSymbolAsync",
    "::cudaMemcpyFromSymbol(h, of::Held::field, sizeof(float))": "cudaMemcpyFromSymbol",
    "cudaMemcpyFromSymbolAsync(h, table, 4, 4, cudaMemcpyDeviceToHost)": "cudaMemcpyFromSymbolAsync",
    "cudaGetSymbolAddress((void **)&floats, of::counter)": "cudaGetSymbolAddress",
    "cudaGetSymbolSize(&n, table)": "cudaGetSymbolSize",
    "cudaGraphAddMemcpyNodeToSymbol((cudaGraphNode_t *)&nowhere, 0, 0, 0, table, h, 4, 0, cudaMemcpyDefault)":
        "cudaGraphAddMemcpyNodeToSymbol",
}  # fmt: skip
"""Calls with the types that people write, and the function that each needs."""


def test_functions_of_the_runtime_library_that_are_not_covered(build: Build) -> None:
    """Each is refused where it is called; the other functions of the source work."""
    functions = (
        f"EXPORTED const char *call_{i}() {{ return of_calling([] {{ CALLED({call}); }}); }}\n"
        for i, call in enumerate(CALLS)
    )
    library = ctypes.CDLL(str(build(UNCOVERED + "".join(functions), name="uncovered.cu")))
    assert library.plain(20) == 40
    for index, needed in enumerate(CALLS.values()):
        function = library[f"call_{index}"]
        function.restype = ctypes.c_char_p
        assert re.match(
            rf"{needed} needs nvcc: it is of CUDA's runtime library, which the NVRTC back end doesn't link\n"
            r'  likely fix: build it with nvcc: backend="nvcc" \(the CUDA toolkit, or pip install nvidia-cuda-nvcc\)',
            function().decode(),
        )


def test_a_symbol_that_is_passed_on(build: Build) -> None:
    text = "__constant__ float table[4];\n__global__ void k(float *p) { *p = table[1]; }\n"
    text += "template <class S> void fill(const S &s, float *p) { cudaMemcpyToSymbol(s, p, 4); }\n"
    with pytest.raises(CompileError, match=r"table lies on the device alone: NVRTC's host half can neither read nor"):
        build(f"{text}void g(float *p) {{ fill(table, p); }}\n")


def test_a_device_library_in_host_code(build: Build) -> None:
    text = "#include <cub/cub.cuh>\nvoid g(float *p, size_t n) { cub::DeviceReduce::Sum(nullptr, n, p, p, 4); }\n"
    with pytest.raises(CompileError, match="cub, Thrust and cooperative groups exist in NVRTC's device half alone"):
        build(text)


def preprocessed(text: str) -> str:
    """As a preprocessor leaves the host's text."""
    for mark in ("host", "device", "global", "constant"):
        text = text.replace(f"__{mark}__", f"__attribute__((opwright_{mark}))")
    return f'# 1 "file.cu"\n{text}'


def test_the_host_half_keeps_every_line() -> None:
    text = preprocessed(
        "__device__ int helper(int x) {\n  return x;\n}\n"
        "__global__ void k(int *p,\n   int) {\n  *p = helper(1);\n}\n"
        "void f(int *p) {\n  k<<<dim3(1,\n      2),\n    3>>>(p, 4);\n  // after\n}\n"
    )
    half, _ = host_half(text)
    lines = half.splitlines()
    assert len(lines) == len(text.splitlines())
    assert "helper" not in half
    assert lines.index("  // after") == text.splitlines().index("  // after")
    assert lines[9].strip().startswith("(::opwright::nvrtc::configure(dim3(1,")


def test_the_host_half_keeps_what_is_mentioned_of_the_device() -> None:
    half, _ = host_half(
        preprocessed(
            "__device__ float add(float a, float b) { return a + b; }\n__device__ float alone(float a) { return a; }\n"
            "template <float (*F)(float, float)> __global__ void k(float *p) { *p = F(*p, alone(1)); }\n"
            "void f(float *p) { k<add><<<1, 1>>>(p); }\n"
        )
    )
    assert re.search(r"float add\(float a, float b\) ;", half)
    assert "alone" not in half


def test_the_device_half_holds_what_kernels_reach_and_nothing_else() -> None:
    half = device_half(
        "struct Host { std::string name; };\nenum { SMALL = 3, LARGE };\nusing Index = long;\n"
        "struct Pair { float a, b;\n"
        "  Pair(const std::string &text) { parse(text); }\n  __device__ float sum() const { return a + b; } };\n"
        "__device__ float operator*(Pair p, float x) { return p.sum() * x; }\n"
        "std::map<int, Host> hosts;\nconstexpr int twice(int x) { return 2 * x; }\n"
        "constexpr int ONE = twice(1), PAIR[2] = {2, 3};\n"
        "int host_only(Host h) { return 1; }\n"
        "static_assert(sizeof(Host) > 1);\n__device__ int counter;\n__device__ int unused() { return LARGE; }\n"
        "__global__ void k(Pair *p, Index n) { counter = PAIR[0] * SMALL; p->a = *p * 2.f; }\n"
        "void launch(Pair *p) { k<<<1, 1>>>(p, 3); }\n"
    )
    for kept in ("SMALL", "using Index", "struct Pair", "operator*", "twice(int x)", "int counter", "void k("):
        assert kept in half
    for gone in ("Host", "std::", "launch", "unused", "static_assert", "parse"):
        assert gone not in half
