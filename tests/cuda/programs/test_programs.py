"""Programs with main(): several sources, arguments, status; make; what goes wrong in them."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cuda.programs import build_program
from opwright.cuda.programs.command_line import parse
from tests.cuda.programs.conftest import Command

Files = Callable[..., None]

HEADER = """
#pragma once
__global__ void add(const float *a, const float *b, float *c, int n);
extern __device__ int counter;
int count_on_the_host();
"""
KERNELS = """
#include "kernels.cuh"
__device__ int counter;
__shared__ float kept[32];
__global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x % 32] = 1;
  if (i < n) c[i] = a[i] + b[i];  // here
  if (i < 10) atomicAdd(&counter, 1);
}
"""
PLAIN = "#include <cuda_runtime.h>\nint count_on_the_host() { int n = 0; cudaGetDeviceCount(&n); return n; }\n"
MAIN = """
#include <iostream>
#include <vector>
#include "kernels.cuh"
__shared__ double kept[64];
__global__ void twice(float *c, int n) {
  kept[threadIdx.x] = 2;
  __syncthreads();
  if (threadIdx.x < n) c[threadIdx.x] *= kept[63 - threadIdx.x];
}
int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000, beyond = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<float> a(n, 1.f), b(n, 2.f), c(n);
  float *x, *y, *z;
  cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&y, n * sizeof(float)), cudaMalloc(&z, n * sizeof(float));
  cudaMemcpy(x, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  std::cout << "begun\\n";
  add<<<(n + 31) / 32, 32>>>(x, y, z, n + beyond);
  twice<<<1, 64>>>(z, 64);
  cudaMemcpy(c.data(), z, n * sizeof(float), cudaMemcpyDeviceToHost);
  int counted;
  cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
  std::cout << c[0] << " " << c[n - 1] << " " << counted << " " << count_on_the_host() << " " << argc << " "
            << SCALE << "\\n";
  return 7;
}
"""
SOURCES = {"kernels.cuh": HEADER, "kernels.cu": KERNELS, "plain.cpp": PLAIN, "main.cu": MAIN}
EMULATE = ("emulate", "main.cu", "kernels.cu", "plain.cpp", "-DSCALE=5")


def test_sources_arguments_status(files: Files, command: Command) -> None:
    files(**SOURCES)
    assert command(*EMULATE) == (7, "begun\n6 3 10 1 1 5\n", "")
    assert command(*EMULATE, "--", "70", "0") == (7, "begun\n6 3 10 1 3 5\n", "")


@pytest.mark.slow
def test_checked(files: Files, command: Command, tmp_path: Path) -> None:
    files(**SOURCES)
    assert command(*EMULATE, "--check") == (7, "begun\n6 3 10 1 1 5\n", "")
    status, out, err = command(*EMULATE, "--check", "--", "100", "1")
    assert (status, out) == (70, "begun\n")
    assert f"opwright: error: {tmp_path}/kernels.cu:8: out of bounds read\n    if (i < n) c[i] = a[i] + b[i];" in err
    assert "got: 4 bytes at byte 400 of the memory of cudaMalloc" in err
    assert f"in add, launched at {tmp_path}/main.cu:19, block (3, 0, 0), thread (4, 0, 0)" in err


def test_a_program_is_in_the_cache(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(**{"one.cu": "int main() { return 0; }\n"})
    monkeypatch.chdir(tmp_path)
    first = build_program(parse(["one.cu"]))
    written = first.stat().st_mtime_ns
    assert build_program(parse(["one.cu"])) == first
    assert first.stat().st_mtime_ns == written
    assert build_program(parse(["one.cu", "-DN"])) != first
    files(**{"one.cu": "int main() { return 1; }\n"})
    assert build_program(parse(["one.cu"])) != first


FAULTS = """
__global__ void divides(int *p, int by) { *p = 7 / by; }
__global__ void fails(int n) { assert(n < 32); }
__global__ void leaves() { if (threadIdx.x) __syncthreads(); else __syncwarp(3); }
__global__ void fills(int *p, int n) { for (int i = 0; i < n; ++i) p[i] = i; }
__device__ int only() { return threadIdx.x; }
__host__ __device__ int either() { return threadIdx.x; }
int main(int argc, char **argv) {
  int *p;
  cudaMalloc(&p, 4);
  printf("before ");
  switch (atoi(argv[1])) {
    case 0: divides<<<1, 1>>>(p, 0); break;
    case 1: fails<<<1, 1>>>(32); break;
    case 2: leaves<<<1, 64>>>(); break;
    case 3: return either();
    case 4: divides<<<1, 2000>>>(p, 1); printf("%s ", cudaGetErrorName(cudaGetLastError())); break;
    case 5: throw 5;
    case 6: fills<<<1, 1>>>(p, 20000); break;
    case 7: fills<<<1, 1>>>(p, 2); cudaFree(p); break;
    case 8: p[1] = 8; break;
  }
  printf("after\\n");
  return 3;
}
"""


def test_a_fault_ends_the_program_with_a_report(files: Files, command: Command) -> None:
    files(**{"faults.cu": FAULTS})
    for number, says in enumerate(
        (
            "opwright: error: an integer was divided by zero\n  likely fix: --check says where\n  in divides",
            "Assertion `n < 32' failed.",
            "opwright: error: the block can't go on: of 64 threads 0 have returned",
            "opwright: error: threadIdx outside of a kernel, in host code",
        )
    ):
        status, out, err = command("emulate", "faults.cu", "--", str(number))
        assert (status, out) == (70, "before "), err
        assert says in err


def test_a_launch_that_cuda_refuses_is_its_last_error(files: Files, command: Command) -> None:
    files(**{"faults.cu": FAULTS})
    status, out, err = command("emulate", "faults.cu", "--", "4")
    assert (status, out) == (3, "before cudaErrorInvalidConfiguration after\n")
    assert err.startswith(
        "opwright: warning: the launch fails, cudaErrorInvalidConfiguration: a block has at most 1024"
    )


def test_an_exception_of_the_programs_own(files: Files, command: Command) -> None:
    files(**{"faults.cu": FAULTS})
    status, _, err = command("emulate", "faults.cu", "--", "5")
    assert status == -6
    assert "terminate called after throwing an instance of 'int'" in err


MAKEFILE = """
NVCC = nvcc
FLAGS = -arch=sm_80 -gencode arch=compute_80,code=sm_80 -Xcompiler -Wall,-fopenmp -O3 -std=c++14 -DSCALE=5
prog: main.o libkernels.a plain.o link.o
\t$(NVCC) $(FLAGS) main.o plain.o link.o libkernels.a -o $@ -lcudart -lm
libkernels.a: kernels.o
\t$(NVCC) -lib $^ -o $@
link.o: main.o kernels.o
\t$(NVCC) -dlink $^ -o $@
%.o: %.cu kernels.cuh
\t$(NVCC) $(FLAGS) -rdc=true -dc $< -o $@ -MD -MF $*.d
plain.o: plain.cpp
\t$(NVCC) $(FLAGS) -c $<
"""


@pytest.mark.parametrize("check", ["", pytest.param(" --check", marks=pytest.mark.slow)])
def test_make(files: Files, command: Command, tmp_path: Path, check: str) -> None:
    files(**SOURCES, Makefile=MAKEFILE)
    nvcc = f"NVCC={shlex.quote(sys.executable)} -m opwright nvcc{check}"
    assert command("-s", nvcc, program=("make",)).status == 0
    assert command("100", program=("./prog",))[:2] == (7, "begun\n6 3 10 1 2 5\n")
    assert command("100", "1", program=("./prog",)).status == (70 if check else 7)
    assert re.match(r"main\.o: .*main\.cu.*kernels\.cuh", (tmp_path / "main.d").read_text().replace("\\\n", ""))


CALLING = "#include <cuda_runtime.h>\n__global__ void nothing() {}\n"
OF_C = {
    "main.c": """
#include <stdlib.h>
#include <stdio.h>
#include "scale.h"
#if !defined __NVCC__ || defined __CUDACC__ || defined __cplusplus
#error "nvcc passes C to the host's compiler, and defines __NVCC__"
#endif
int main(void) {
  struct scaling class = {.n = 4, .by = FACTOR};
  float *x = malloc(class.n * sizeof *x);
  for (int i = 0; i < class.n; ++i) x[i] = i;
  int status = scale(x, class);
  printf("%d %g %d\\n", status, x[3], devices());
  free(x);
  return 0;
}
""",
    "scale.h": """
#ifdef __cplusplus
extern "C" {
#endif
struct scaling { int n; float by; };
int scale(float *x, struct scaling s);
int devices(void);
#ifdef __cplusplus
}
#endif
""",
    "scale.cu": """
#include "scale.h"
__global__ void multiply(float *x, struct scaling s) { if (threadIdx.x < s.n) x[threadIdx.x] *= s.by; }
int scale(float *host, struct scaling s) {
  float *x;
  cudaMalloc(&x, s.n * sizeof *x);
  cudaMemcpy(x, host, s.n * sizeof *x, cudaMemcpyDefault);
  multiply<<<1, 32>>>(x, s);
  cudaMemcpy(host, x, s.n * sizeof *x, cudaMemcpyDefault);
  return cudaGetLastError();
}
""",
    "devices.cpp": """
#include <cuda_runtime.h>
#include "scale.h"
#ifdef __CUDACC__
#error "this is C++ for the host"
#endif
int devices() { int n; return cudaGetDeviceCount(&n) ? -1 : n; }
""",
    "Makefile": """
CFLAGS = -O2 -Xcompiler -Wall,-std=c99 -include factor.h
CXXFLAGS = -O2 -std=c++17
prog: main.o scale.o devices.o
\t$(CC) $^ $(LDLIBS) -lm -o $@
%.o: %.cu
\t$(NVCC) -O2 -c $< -o $@
""",
    "factor.h": "#define FACTOR 2.5f\n",
}


@pytest.mark.parametrize("check", ["", pytest.param(" --check", marks=pytest.mark.slow)])
def test_make_with_nvcc_as_the_compilers_of_c_and_cpp(files: Files, command: Command, check: str) -> None:
    """make exports CC and CXX, which name the command itself then."""
    files(**OF_C)
    nvcc = f"{shlex.quote(sys.executable)} -m opwright nvcc{check}"
    names = [f"{name}={nvcc}" for name in ("CC", "CXX", "NVCC")]
    assert command("-s", *names, program=("make",)) == (0, "", "")
    assert command(program=("./prog",)) == (0, "0 7.5 1\n", "")


def test_c_by_nvcc(files: Files, command: Command) -> None:
    """Its preprocessor is C's, `-x cu` makes it CUDA, and what needs C++ says so."""
    files(**OF_C, **{"kernel.c": f"{CALLING}int main() {{ nothing<<<1, 1>>>(); return cudaGetLastError(); }}\n"})
    shown = command("nvcc", "-E", "-include", "factor.h", "main.c").out
    assert ".by = 2.5f" in shown
    assert 'extern "C" {' not in shown
    assert "scale.h" in command("nvcc", "-MM", "-include", "factor.h", "main.c").out
    assert command("nvcc", "-x", "cu", "-run", "kernel.c").status == 0
    status, _, err = command("nvcc", "-c", "kernel.c")
    assert status == 1
    assert (
        "opwright: CUDA's headers are C++ under emulation, and this file is C. Compile it as CUDA (nvcc -x cu)" in err
    )


def test_a_shared_library(files: Files, command: Command) -> None:
    files(**SOURCES)
    shared = ("-shared", "-Xcompiler", "-fPIC", "kernels.cu", "plain.cpp", "-o", "libkernels.so")
    assert command("nvcc", *shared).status == 0
    assert command("nvcc", "-DSCALE=5", "main.cu", "-L.", "-lkernels", "-Xlinker", "-rpath,.", "-o", "prog").status == 0
    assert command("100", program=("./prog",)) == (7, "begun\n6 3 10 1 2 5\n", "")


def test_other_products(files: Files, command: Command) -> None:
    files(**SOURCES)
    assert "release 12.8" in command("nvcc", "--version").out
    assert "extern __device__ int counter;" in command("nvcc", "-E", "-DSCALE=5", "main.cu").out
    assert "kernels.cuh" in command("nvcc", "-M", "-DSCALE=5", "main.cu").out
    assert command("nvcc", "-run", "-DSCALE=5", "main.cu", "kernels.cu", "plain.cpp").out == "begun\n6 3 10 1 1 5\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nvcc", "missing.cu"), "missing.cu: there is no such file"),
        (("nvcc",), "there is nothing to compile"),
        (("nvcc", "-c", "main.cu", "kernels.cu", "-o", "x.o"), "-o x.o names one file for 2 sources"),
        (("nvcc", "dnn.cu"), "cuDNN isn't emulated\n  likely fix: leave that part out with #ifndef OPWRIGHT_EMULATION"),
        (("emulate", "--check"), "no source file is named"),
        (("emulate", "asm.cu"), "inline PTX can't be emulated"),
        (("emulate", "main.cu"), "undefined reference to"),
    ],
)
def test_what_is_refused(files: Files, command: Command, arguments: tuple[str, ...], says: str) -> None:
    files(
        **SOURCES,
        **{"dnn.cu": "#include <cudnn.h>\n", "asm.cu": '__global__ void k() { asm("bar;"); } int main() {}\n'},
    )
    status, _, err = command(*arguments, *(("-DSCALE=1",) if "main.cu" in arguments else ()))
    assert status in (1, 2)
    assert says in err


def test_cmake_shows_that_it_isnt_supported(files: Files, command: Command, tmp_path: Path) -> None:
    """CMake hides the answer to its first question, so that is one after which it asks on."""
    status, out, _ = command("nvcc", "-v", "__cmake_determine_cuda")
    assert status == 0
    assert re.search(r"^#\$ NVVMIR_LIBRARY_DIR=.*nvvm/libdevice$", out, re.MULTILINE)
    status, _, err = command("nvcc", "-v", "--keep", "--keep-dir", "tmp", "CMakeCUDACompilerId.cu")
    assert status == 1
    assert "isn't a CUDA compiler for CMake" in err
    if not shutil.which("cmake"):
        pytest.skip("no cmake on the PATH")
    files(
        nvcc=f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m opwright nvcc "$@"\n',
        **{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(one LANGUAGES CUDA)\n"},
    )
    (tmp_path / "nvcc").chmod(0o755)
    status, _, err = command("-B", "build", f"-DCMAKE_CUDA_COMPILER={tmp_path}/nvcc", program=("cmake",))
    assert status == 1
    assert "opwright nvcc isn't a CUDA compiler for CMake" in " ".join(err.split())


PAGE = (Path(__file__).parents[3] / "docs" / "cuda_programs.md").read_text("utf-8")


@pytest.mark.slow
def test_the_page(files: Files, command: Command) -> None:
    texts = {name: text for text, name in re.findall(r"```cpp\n(// (\w+\.cu)\n.*?)```", PAGE, re.DOTALL)}
    files(**texts)
    lines = [shlex.split(line) for line in re.findall(r"^opwright (emulate .*)$", PAGE, re.MULTILINE)]
    assert [command(*line) for line in lines] == [(0, "5000\n", ""), (0, "700\n", ""), (0, "6\n", "")]
    files(**{"dot.cu": texts["dot.cu"].replace("    __syncthreads();\n", "")})
    status, _, err = command(*lines[1])
    assert status == 70
    report = re.search(r"```text\nopwright: error: \.\.\./(.*?)```", PAGE, re.DOTALL)
    assert report
    assert report[1] in err


@pytest.mark.parametrize(
    ("options", "number", "advice"),
    [
        ([], "6", "--check says where"),
        ([], "7", "--check says where"),
        (["--check"], "8", "by code that isn't checked, such as Thrust's or the host's"),
    ],
)
def test_what_is_written_past_an_allocation_harms_no_host_memory(
    files: Files, command: Command, tmp_path: Path, options: list[str], number: str, advice: str
) -> None:
    files(**{"faults.cu": FAULTS})
    status, out, err = command("emulate", *options, "faults.cu", "--", number)
    assert (status, out) == (3, "before after\n")
    assert err == (
        "opwright: warning: something was written past the end of the memory of cudaMalloc at "
        f"{tmp_path}/faults.cu:10, which has 4 bytes: {advice}\n"
    )
