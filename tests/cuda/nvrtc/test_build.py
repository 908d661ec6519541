"""What NVRTC makes of whole sources: for every architecture, with CUDA's headers, and with errors in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.nvrtc import Nvrtc
from opwright.cuda.nvrtc.discovery import find_nvrtc, supported_architectures
from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Options

Build = Callable[..., Path]
Play = Callable[..., Any]

EXPORTED = '#define EXPORTED extern "C" __attribute__((visibility("default")))\n'
SCALE = f"""\
{EXPORTED}
template <class T> __global__ void scale(int n, const T *x, T *y, T by) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = by * x[i];
}}
EXPORTED void f(int n, const float *x, float *y) {{ scale<<<n / 256, 256>>>(n, x, y, 2.f); }}
EXPORTED void d(int n, const double *x, double *y) {{ scale<<<n / 256, 256>>>(n, x, y, 2.); }}
"""


@pytest.mark.slow
def test_every_architecture_is_compiled_without_spills(build: Build) -> None:
    known = supported_architectures(find_nvrtc())
    assert {"75", "80", "86", "89", "90", "100", "120"} <= set(known)
    listed = ";".join(f"{number[:-1]}.{number[-1]}" for number in known)
    library = build(SCALE, listed, words=("--ptxas-options=-v",))
    log = (library.parent / "build.log").read_text()
    assert set(re.findall(r"entry function '\w+' for 'sm_(\d+)'", log)) == set(known)
    registers = [int(number) for number in re.findall(r"Used (\d+) registers", log)]
    assert len(registers) == 2 * len(known)
    assert max(registers) <= 32
    assert set(re.findall(r"(\d+) bytes spill", log)) == {"0"}


@pytest.mark.usefixtures("needs_nvrtc")
def test_an_architecture_that_nvrtc_does_not_know(build: Build) -> None:
    with pytest.raises(ToolchainError, match=r"TORCH_CUDA_ARCH_LIST='3.5': '3.5' is no architecture that this NVRTC"):
        build(SCALE, "3.5")


@pytest.mark.exhaustive
def test_halves_cub_and_cooperative_groups(build: Build, play: Play) -> None:
    if not any((Path(folder) / "cub" / "cub.cuh").is_file() for folder in find_nvrtc().include_dirs):
        pytest.skip("cub's headers aren't here: pip install nvidia-cuda-cccl")
    text = f"""\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_reduce.cuh>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>
{EXPORTED}
namespace cg = cooperative_groups;
using Reduce = cub::BlockReduce<float, 128>;

template <class T> __global__ void total(const T *x, float *y, int64_t n) {{
  __shared__ typename Reduce::TempStorage memory;
  float sum = -std::numeric_limits<float>::max();
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum = std::max(sum, static_cast<float>(x[i]));
  sum = Reduce(memory).Sum(sum);
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x < 32) *y = cg::reduce(warp, sum, cg::plus<float>());
}}
EXPORTED int go(void *x, float *y) {{
  std::vector<int64_t> sizes(2, int64_t(1) << 40);
  total<<<1, 128>>>(static_cast<const __half *>(x), y, sizes[0]);
  total<<<1, 128>>>(static_cast<const __nv_bfloat16 *>(x), y, sizes[1]);
  return cudaGetLastError();
}}
"""
    error, notes = play(build(text), 'driver.fake_sizes(b"888"); said += [kernels.go(None, None), notes()]')
    launched = [note.split() for note in notes if note.startswith("cuLaunchKernel")]
    assert error == 0
    assert [words[1] for words in launched] == ["_Z5totalI6__halfEvPKT_Pfl", "_Z5totalI13__nv_bfloat16EvPKT_Pfl"]
    assert launched[0][-1] == (1 << 40).to_bytes(8, "little").hex()


@pytest.mark.slow
def test_macros_headers_and_conditions_on_the_architecture(
    build: Build, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper.cuh").write_text(
        "#pragma once\n#include <map>\n"
        "#define KERNEL(name, value) __global__ void name(float *p) { *p = value; }\n"
        "#define RUN(name, ...) name<<<1, 1>>>(__VA_ARGS__)\n"
        "inline std::map<int, int> &known() { static std::map<int, int> all; return all; }\n"
        "__device__ inline float by_card(float x) {\n#if __CUDA_ARCH__ >= 800\n"
        "  return __reduce_max_sync(~0u, 3u) + x;\n"
        "#else\n  return x;\n#endif\n}\n"
    )
    source = tmp_path / "user.cu"
    source.write_text(
        f'#include "helper.cuh"\n{EXPORTED}KERNEL(one, 1)\nKERNEL(two, by_card(2))\n'
        "EXPORTED int go(float *p) { known()[1] = 2; RUN(one, p); RUN(two, p); return cudaGetLastError(); }\n"
    )
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "7.5;9.0")
    text = CudaText("user", f'#line 1 "{source}"\n{source.read_text()}', source)
    first = Nvrtc().built(text, Options())
    error, notes = play(first.path, "said += [kernels.go(None), notes()]")
    assert error == 0
    assert [note.split()[1] for note in notes if note.startswith("cuLaunch")] == ["_Z3onePf", "_Z3twoPf"]
    again = Nvrtc().built(text, Options())
    assert (again.cached, again.path) == (True, first.path)
    header = tmp_path / "helper.cuh"
    header.write_text(header.read_text().replace("return x;", "return x + 1;"))  # the device half of one alone reads it
    assert not Nvrtc().built(text, Options()).cached


def test_an_error_in_a_kernel_names_the_authors_line(build: Build) -> None:
    kernel = "#include <vector>\n\n__global__ void broken(float *p) {\n  p[0] = nothing_like_it;\n}\n"
    text = kernel + "void f() { broken<<<1, 1>>>(nullptr); }\n"
    with pytest.raises(CompileError) as caught:
        build(text, name="wrong.cu")
    first = str(caught.value).splitlines()[0]
    assert re.match(r"\S+/wrong\.cu:4: error: identifier .?nothing_like_it.? is undefined", first), str(caught.value)


def test_an_error_in_host_code_names_the_authors_line(build: Build) -> None:
    text = "__global__ void k(float *p) {\n  *p = 1;\n}\nvoid f() {\n  k<<<1,\n    1>>>(nothing_like_it);\n}\n"
    with pytest.raises(CompileError) as caught:
        build(text, name="wrong.cu")
    assert re.match(r"\S+/wrong\.cu:[56]:\d+: error: 'nothing_like_it' was not declared", str(caught.value))


def test_a_kernel_that_does_not_fit_its_launch(build: Build) -> None:
    with pytest.raises(CompileError, match=r"wrong\.cu:2(:\d+)?: error: .*cannot convert"):
        build("__global__ void k(float *p) { *p = 1; }\nvoid f(double *p) { k<<<1, 1>>>(p); }\n", name="wrong.cu")


def test_a_host_function_called_from_a_kernel(build: Build) -> None:
    kernel = "float host_only(float x) { return x; }\n__global__ void k(float *p) { *p = host_only(1); }\n"
    text = kernel + "void f() { k<<<1, 1>>>(nullptr); }"
    with pytest.raises(CompileError, match=r"wrong\.cu:2: error: identifier .?host_only"):
        build(text, name="wrong.cu")


@pytest.mark.slow
def test_nvrtc_is_stopped_when_it_takes_too_long(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    build(SCALE)  # what all libraries share is there
    monkeypatch.setattr("opwright.cuda.nvrtc.build_steps._WORKER", Path(__file__).with_name("sleeping_worker.py"))
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "8")
    with pytest.raises(CompileError, match=r"kernels: the compiler was stopped after .*8"):
        build(SCALE.replace("2.f", "3.f"))


def test_nvrtc_that_crashes_is_an_error_of_this_build(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opwright.cuda.nvrtc.build_steps._WORKER", Path(__file__).with_name("crashing_worker.py"))
    with pytest.raises(CompileError, match=r"signal|SIGKILL|killed|crashed"):
        build(SCALE.replace("2.f", "4.f"))


def test_a_source_without_kernels_is_a_library_too(build: Build, play: Play) -> None:
    assert play(build(f"{EXPORTED}EXPORTED int answer() {{ return 42; }}\n"), "said += [kernels.answer()]") == [42]
