"""What a launch hands to the driver, seen by a driver that takes notes; and what is said where there is none."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

Build = Callable[..., Path]
Play = Callable[..., Any]

TEXT = """\
#include <string>
#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Affine {
  float by;
  double plus;
  __host__ __device__ double operator()(double x) const { return by * x + plus; }
};

template <class T, class F>
__global__ void __launch_bounds__(256) map(const int n, const T *__restrict__ x, T *y, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = T(f(x[i]));
}
namespace deep { namespace {
__global__ void fill(char *p, short, unsigned char value = 7) { p[threadIdx.x] = value; }
} }
template <int... N> __global__ void sizes(int *p) { int k = 0; ((p[k++] = N), ...); }
template <class... A> __global__ void sum(float *p, A... a) { *p = (a + ... + 0.f); }
template <class A, int N> struct Pair { A a[N]; };
__global__ void pairs(Pair<short, 2> one, const Pair<Pair<char, 1>, 3> = {}, int more = (3 < 4), int last = 5) {}
__global__ void twice(float *p) { *p *= 2; }
__global__ void twice(double *p) { *p *= 2; }

EXPORTED int go(void *x, void *y, void *stream) {
  std::string text = "the host has its standard library";
  auto *s = static_cast<cudaStream_t>(stream);
  map<<<dim3(3, 2), dim3(8, 4, 2), 100 + text.size(), s>>>(7, (const float *)x, (float *)y, Affine{1.5f, 2.5});
  map<<<1, 32>>>(9, static_cast<const double *>(x), static_cast<double *>(y), Affine{0, 1});
  return cudaGetLastError();
}
EXPORTED int by_default(void *p) { return deep::fill<<<1, 64>>>((char *)p, 3), cudaGetLastError(); }
EXPORTED int templates() { return pairs<<<1, 1>>>({{258, 2}}), cudaGetLastError(); }
EXPORTED int packs(void *p) {
  sizes<1, 2, 3><<<1, 1>>>((int *)p);
  sum<<<1, 1>>>((float *)p, 1, 2.5);
  return cudaGetLastError();
}
EXPORTED int overloads(void *p) {
  twice<<<1, 1>>>((float *)p);
  twice<<<1, 1>>>((double *)p);
  void (*chosen)(double *) = twice;
  chosen<<<4, 1>>>((double *)p);
  return cudaGetLastError();
}
EXPORTED int attributes() {
  if (cudaFuncSetAttribute(map<float, Affine>, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000)) return 1;
  int blocks = 0, grid = 0, block = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, map<float, Affine>, 256, 0) || blocks != 6) return 2;
  if (cudaOccupancyMaxPotentialBlockSize(&grid, &block, sizes<4>, 0, 0)) return 3;
  cudaFuncAttributes found;
  if (cudaFuncGetAttributes(&found, (const void *)static_cast<void (*)(float *)>(twice))) return 4;
  if (found.maxThreadsPerBlock != 1024) return 5;
  return 1000 * block + grid;
}
EXPORTED int by_call(float *p) {
  void *arguments[] = {&p};
  return cudaLaunchKernel(static_cast<void (*)(float *)>(twice), dim3(5), dim3(6), arguments, 7, nullptr);
}
EXPORTED int memory(void *p, void *stream) {
  auto *s = static_cast<cudaStream_t>(stream);
  float *more = nullptr, time = 0;
  cudaEvent_t event;
  if (cudaMalloc(&more, 64) || cudaMemsetAsync(p, 3, 16, s) || cudaMemsetAsync(p, 3, 0, s)) return 1;
  if (cudaMemcpyAsync(more, p, 16, cudaMemcpyDeviceToDevice, s) || cudaStreamSynchronize(s) || cudaFree(more)) return 2;
  if (cudaEventCreate(&event) || cudaEventRecord(event, s) || cudaEventElapsedTime(&time, event, event)) return 3;
  return time == 1.5f ? 0 : 4;
}
EXPORTED int last() { return cudaPeekAtLastError(), cudaGetLastError(); }
EXPORTED const char *name_of(int e) { return cudaGetErrorName((cudaError_t)e); }
EXPORTED const char *text_of(int e) { return cudaGetErrorString((cudaError_t)e); }
"""

ARCHITECTURES = "7.5;8.0;9.0a;9.0+PTX"


@pytest.fixture(scope="module")
def library(build: Build) -> Path:
    """The text above, for several architectures."""
    return build(TEXT, ARCHITECTURES)


def launches(notes: list[str]) -> list[list[str]]:
    """The launches among what the driver noted, each in words."""
    return [note.split()[1:] for note in notes if note.startswith("cuLaunchKernel ")]


@pytest.mark.slow
def test_grid_block_shared_stream_and_arguments_arrive(library: Path, play: Play) -> None:
    sizes = "488" + "8"
    script = f'driver.fake_sizes(b"{sizes}"); said += [kernels.go(0x1000, 0x2000, 0x77), notes()]'
    error, notes = play(
        library, script.replace("0x1000, 0x2000, 0x77", "*map(ctypes.c_void_p, (0x1000, 0x2000, 0x77))")
    )
    first, second = launches(notes)
    assert error == 0
    assert first[0].startswith("_Z3mapIf6Affine")
    assert first[1:5] == ["3,2,1", "8,4,2", str(100 + len("the host has its standard library")), "0x77"]
    n, x, y, affine = (bytes.fromhex(word) for word in first[5:])
    assert struct.unpack("<i", n) == (7,)
    assert struct.unpack("<qq", x + y) == (0x1000, 0x2000)
    assert struct.unpack("<f", affine[:4]) == (1.5,)
    assert second[0].startswith("_Z3mapId6Affine")
    assert second[1:5] == ["1,1,1", "32,1,1", "0", "(nil)"]


def test_a_default_argument_and_a_parameter_without_a_name(library: Path, play: Play) -> None:
    error, notes = play(
        library, 'driver.fake_sizes(b"821"); said += [kernels.by_default(ctypes.c_void_p(16)), notes()]'
    )
    ((name, *_, p, short, value),) = launches(notes)
    assert error == 0
    assert "deep" in name
    assert "fill" in name
    assert (p, short, value) == ((16).to_bytes(8, "little").hex(), "0300", "07")


def test_parameters_whose_types_have_commas(library: Path, play: Play) -> None:
    error, notes = play(library, 'driver.fake_sizes(b"4344"); said += [kernels.templates(), notes()]')
    ((_, *_, one, two, more, last),) = launches(notes)
    assert (error, one, two, more, last) == (0, "02010200", "000000", "01000000", "05000000")


def test_packs_of_types_and_of_numbers(library: Path, play: Play) -> None:
    error, notes = play(library, 'driver.fake_sizes(b"8"); said += [kernels.packs(None), notes()]')
    assert error == 0
    assert [words[0] for words in launches(notes)] == ["_Z5sizesIJLi1ELi2ELi3EEEvPi", "_Z3sumIJidEEvPfDpT_"]


def test_overloads_and_pointers_to_kernels(library: Path, play: Play) -> None:
    error, notes = play(library, "said += [kernels.overloads(None), notes()]")
    assert error == 0
    assert [words[:2] for words in launches(notes)] == [
        ["_Z5twicePf", "1,1,1"], ["_Z5twicePd", "1,1,1"], ["_Z5twicePd", "4,1,1"],
    ]  # fmt: skip


def test_attributes_and_occupancy_find_their_kernel(library: Path, play: Play) -> None:
    answer, notes = play(library, "said += [kernels.attributes(), notes()]")
    assert answer == 1000 * 512 + 3 * 132  # 3 blocks of 512 threads are the most of 1536, on each of 132 processors
    assert [
        note for note in notes if note.startswith("cuFuncSetAttribute _Z3mapIf6Affine") and note.endswith("8 70000")
    ]
    assert not launches(notes)


def test_a_kernel_is_launched_by_the_runtime_librarys_function(library: Path, play: Play) -> None:
    script = 'driver.fake_sizes(b"8"); said += [kernels.by_call(ctypes.c_void_p(32)), notes()]'
    error, notes = play(library, script)
    assert error == 0
    assert launches(notes) == [["_Z5twicePf", "5,1,1", "6,1,1", "7", "(nil)", (32).to_bytes(8, "little").hex()]]


def test_memory_streams_and_events(library: Path, play: Play) -> None:
    error, notes = play(library, "said += [kernels.memory(ctypes.c_void_p(0xb0), ctypes.c_void_p(0x77)), notes()]")
    assert error == 0
    assert notes[3:] == [
        "cuMemAlloc 64", "cuMemsetD8Async b0 3 16 0x77", "cuMemcpyAsync a000 b0 16 0x77", "cuStreamSynchronize 0x77",
        "cuMemFree a000", "cuEventCreate 0", "cuEventRecord 0xe 0x77", "cuEventElapsedTime 0xe 0xe",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("card", "kind"), [(75, "cubin"), (80, "cubin"), (86, "cubin"), (90, "cubin"), (100, "ptx"), (120, "ptx")]
)
def test_each_card_gets_what_was_built_for_it(library: Path, play: Play, card: int, kind: str) -> None:
    error, notes = play(library, "said += [kernels.overloads(None), notes()]", {"FAKE_CARD": str(card)})
    assert error == 0
    assert [note for note in notes if note.startswith("cuModuleLoadData")] == [f"cuModuleLoadData {kind}"]


def test_a_card_that_nothing_was_built_for(library: Path, play: Play) -> None:
    error, text = play(
        library, "said += [kernels.overloads(None), text('text_of', kernels.last() or 209)]", {"FAKE_CARD": "61"}
    )
    assert error == 209
    assert text == (
        "built for sm_75, sm_80, sm_90a, sm_90, compute_90, but this GPU is sm_61; "
        "likely fix: add 6.1 to TORCH_CUDA_ARCH_LIST"
    )


def test_a_module_is_loaded_once_for_each_context(library: Path, play: Play) -> None:
    script = """
for context in (1, 1, 2, 1):
    driver.fake_context(ctypes.c_void_p(context))
    kernels.overloads(None)
said += notes()
"""
    notes = play(library, script)
    loaded = [note for note in notes if note.startswith("cuModuleLoadData")]
    found = [note for note in notes if note.startswith("cuModuleGetFunction")]
    assert len(loaded) == 2
    assert len(found) == 4  # two kernels in each
    assert len(launches(notes)) == 12
    assert not any(note.startswith("cuDevicePrimaryCtxRetain") for note in notes)


def test_the_first_context_is_made_where_there_is_none(library: Path, play: Play) -> None:
    notes = play(library, "kernels.overloads(None); said += notes()")
    assert notes[:3] == ["cuInit 0", "cuDevicePrimaryCtxRetain 0", "cuCtxSetCurrent 0xc0"]


def test_a_module_is_loaded_while_a_stream_is_captured(library: Path, play: Play) -> None:
    notes = play(library, "kernels.overloads(None); said += notes()")
    at = next(index for index, note in enumerate(notes) if note.startswith("cuModuleLoadData"))
    relaxed, before = 2, 0
    assert notes[at - 1] == f"cuThreadExchangeStreamCaptureMode {relaxed}"
    assert notes[at + 1] == f"cuThreadExchangeStreamCaptureMode {before}"


@pytest.mark.parametrize(
    ("failing", "name", "text"),
    [
        ("cuLaunchKernel=700", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
        ("cuModuleLoadData=700", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
        ("cuModuleGetFunction=700", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
        ("cuInit=100", "cudaErrorNoDevice", "the NVIDIA driver can't be used: no device"),
    ],
)
def test_errors_are_the_launchs_and_have_texts(library: Path, play: Play, failing: str, name: str, text: str) -> None:
    script = "e = kernels.overloads(None); said += [e, kernels.last(), text('name_of', e), text('text_of', e)]"
    error, after, named, told = play(library, script, {"FAKE_FAILS": failing})
    assert error == int(failing.split("=")[1])
    assert after == 0
    assert (named, told) == (name, text)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a driver")
def test_without_a_driver_it_loads_and_says_so(library: Path, play: Play) -> None:
    script = "e = kernels.overloads(None); said += [e, text('name_of', e), text('text_of', e)]"
    error, name, text = play(library, script, driver=False)
    assert (error, name) == (35, "cudaErrorInsufficientDriver")
    assert text.startswith("there is no NVIDIA driver here (libcuda.so.1: cannot open shared object file")
