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
#include <opwright/check.h>
#define EXPORTED extern "C" __attribute__((visibility("default")))
__global__ void k() {}
EXPORTED int plain(int x) { return 2 * x; }
EXPORTED const char *refused() {
  static opwright::Failure kept;
  void *p;
  try {
    k<<<1, 1>>>();
    cudaMallocHost(&p, 16);
  } catch (const opwright::Failure &failure) {
    kept = failure;
  }
  return kept.message.text();
}
"""


def test_a_function_of_the_runtime_library_that_is_not_covered(build: Build) -> None:
    """It is refused where it is called; the other functions of the source work."""
    library = ctypes.CDLL(str(build(UNCOVERED, name="uncovered.cu")))
    assert library.plain(20) == 40
    library.refused.restype = ctypes.c_char_p
    said = library.refused().decode()
    assert said.startswith(
        "cudaMallocHost needs nvcc: it is of CUDA's runtime library, which the NVRTC back end doesn't"
    )
    assert 'likely fix: build it with nvcc: backend="nvcc" (the CUDA toolkit, or pip install nvidia-cuda-nvcc)' in said


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
