"""One emulator for a program and its libraries: memory, streams, events and captures of one are the others', too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain.binary.elf import needed_libraries
from tests.cuda.programs.conftest import Command

LIBRARY = """
#define EXPORT extern "C" __attribute__((visibility("default")))
__device__ int added = 3;
__global__ void fill(int *memory, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) memory[i] = value + added;
}
EXPORT int *make(int n) {
  int *memory = nullptr;
  cudaMalloc(&memory, n * sizeof(int));
  return memory;
}
EXPORT void set(int *memory, int n, int value, cudaStream_t stream) {
  fill<<<(n + 31) / 32, 32, 0, stream>>>(memory, n, value);
}
EXPORT int too_much(int *memory, int bytes) { return cudaMemset(memory, 0, bytes); }
EXPORT int is_device(int *memory) {
  cudaPointerAttributes is;
  return cudaPointerGetAttributes(&is, memory) == cudaSuccess && is.type == cudaMemoryTypeDevice;
}
EXPORT int after(cudaStream_t stream, cudaEvent_t event) { return cudaStreamWaitEvent(stream, event); }
EXPORT void *variable() {
  void *address = nullptr;
  cudaGetSymbolAddress(&address, added);
  return address;
}
EXPORT int get(int *memory) {
  int value = 0;
  cudaMemcpy(&value, memory, sizeof(int), cudaMemcpyDeviceToHost);
  return value;
}
EXPORT int drop(int *memory) { return cudaFree(memory); }
"""
DECLARED = """
extern "C" int *make(int);
extern "C" void set(int *, int, int, cudaStream_t);
extern "C" int too_much(int *, int), is_device(int *), after(cudaStream_t, cudaEvent_t), drop(int *), get(int *);
extern "C" void *variable();
"""
LOADED = r"""
#include <dlfcn.h>
static void *library = dlopen("./libfill.so", RTLD_NOW | RTLD_LOCAL);
template <class F> F *function(const char *name) { return (F *)dlsym(library, name); }
static auto *const make = function<int *(int)>("make");
static auto *const set = function<void(int *, int, int, cudaStream_t)>("set");
static auto *const too_much = function<int(int *, int)>("too_much");
static auto *const is_device = function<int(int *)>("is_device");
static auto *const after = function<int(cudaStream_t, cudaEvent_t)>("after");
static auto *const drop = function<int(int *)>("drop");
static auto *const get = function<int(int *)>("get");
static auto *const variable = function<void *()>("variable");
"""
PROGRAM = r"""
#include <cstdio>
#include "library.h"
__global__ void doubled(int *memory, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) memory[i] *= 2;
}
int main() {
  int *theirs = make(100), *ours = nullptr;
  cudaMalloc(&ours, 400);
  cudaStream_t stream, other;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaPointerAttributes is;
  cudaPointerGetAttributes(&is, theirs);
  printf("%d %d\n", is.type == cudaMemoryTypeDevice, is_device(ours));
  set(ours, 100, 1, stream);                          /* 4 */
  cudaEventRecord(event, stream);
  printf("%d\n", after(other, event));
  doubled<<<4, 32, 0, other>>>(ours, 100);            /* 8 */
  cudaDeviceSynchronize();
  cudaGraph_t graph;
  cudaGraphExec_t whole;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  set(ours, 100, 7, stream);                          /* 10, when it is launched */
  cudaStreamEndCapture(stream, &graph);
  printf("%d ", get(ours));
  cudaGraphInstantiate(&whole, graph, 0);
  cudaGraphLaunch(whole, stream);
  cudaStreamSynchronize(stream);
  printf("%d\n", get(ours));
  const int five = 5;
  cudaMemcpy(variable(), &five, sizeof(int), cudaMemcpyHostToDevice);
  set(theirs, 100, 1, 0);
  cudaDeviceSynchronize();
  printf("%d\n", get(theirs + 99));
  printf("%d\n", too_much(ours, 401) == cudaErrorInvalidValue);
  cudaGetLastError();
  printf("%d %d\n", cudaFree(theirs), drop(ours));
}
"""
EXPECTED = "1 1\n0\n8 10\n6\n1\n0 0\n"
Files = Callable[..., None]


def built(command: Command, *options: str) -> None:
    """``libfill.so`` in the test's folder."""
    assert command("nvcc", *options, "-shared", "-Xcompiler", "-fPIC", "library.cu", "-o", "libfill.so").status == 0


@pytest.mark.parametrize("how", ["linked", "loaded"])
@pytest.mark.parametrize("options", [(), pytest.param(("--check",), marks=pytest.mark.slow)], ids=["", "checked"])
def test_a_program_with_a_library(files: Files, command: Command, how: str, options: tuple[str, ...]) -> None:
    files(**{"library.cu": LIBRARY, "main.cu": PROGRAM, "library.h": DECLARED if how == "linked" else LOADED})
    built(command, *options)
    with_library = ("-L.", "-lfill", "-Xlinker", "-rpath,.") if how == "linked" else ()
    assert command("nvcc", *options, "main.cu", *with_library, "-o", "prog").status == 0
    status, out, err = command(program=("./prog",))
    if options:
        assert "cudaMemset fails, cudaErrorInvalidValue" in err
    assert (status, out) == (0, EXPECTED)


TWO = """
import ctypes
first, second = (ctypes.CDLL(f"./lib{name}.so") for name in ("fill", "again"))
for each in (first, second):
    each.make.restype = ctypes.c_void_p
    each.set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    for name in ("get", "is_device", "drop"): getattr(each, name).argtypes = [ctypes.c_void_p]
    each.too_much.argtypes = [ctypes.c_void_p, ctypes.c_int]
memory = first.make(10)
second.set(memory, 10, 4, None)
print(second.is_device(memory), first.get(memory), second.too_much(memory, 41), second.drop(memory), first.drop(memory))
"""


def test_two_libraries_that_python_loads(files: Files, command: Command, tmp_path: Path) -> None:
    files(**{"library.cu": LIBRARY})
    built(command)
    (tmp_path / "libagain.so").write_bytes((tmp_path / "libfill.so").read_bytes())
    done = subprocess.run([sys.executable, "-c", TWO], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1 7 1 0 1\n", "")


def test_a_library_without_cuda_needs_no_emulator(files: Files, command: Command, tmp_path: Path) -> None:
    files(**{"plain.cpp": 'extern "C" int two() { return 2; }\n'})
    assert command("nvcc", "-shared", "plain.cpp", "-o", "libplain.so").status == 0
    assert not [name for name in needed_libraries(str(tmp_path / "libplain.so")) if "opwright" in name]


@pytest.mark.slow
def test_a_library_of_another_emulator(files: Files, command: Command) -> None:
    files(**{"library.cu": LIBRARY, "main.cu": PROGRAM, "library.h": DECLARED})
    built(command)
    status, _, err = command("nvcc", "--check", "main.cu", "-L.", "-lfill", "-o", "prog")
    assert status == 1
    assert "libfill.so was linked with another emulator than this program, and a process has one" in err
    assert "likely fix: build it again, opwright nvcc --check -shared ..." in err
    assert command("nvcc", "main.cu", "./libfill.so", "-o", "prog").status == 0


@pytest.mark.slow
def test_an_unchecked_kernel_beside_a_checked_library(files: Files, command: Command) -> None:
    files(**{"library.cu": LIBRARY, "main.cu": PROGRAM, "library.h": DECLARED})
    built(command, "--check")
    assert command("nvcc", "main.cu", "-L.", "-lfill", "-Xlinker", "-rpath,.", "-o", "prog").status == 0
    status, _, err = command(program=("./prog",))
    line = 1 + PROGRAM[: PROGRAM.index("doubled<<<")].count("\n")
    assert status == 70
    assert f"main.cu:{line} was compiled without checks, and this process checks every access" in err
    assert "likely fix: build its file again, with checks: opwright nvcc --check" in err
