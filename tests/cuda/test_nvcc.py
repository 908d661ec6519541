"""Kernel libraries by nvcc: what comes out, where it can be loaded, what its errors say. None of it runs on a GPU."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.nvcc import Nvcc
from opwright.errors import CompileError
from opwright.toolchain import Options, line_directive
from opwright.toolchain.messages import ptxas

pytestmark = pytest.mark.skipif(bool(Nvcc().missing()), reason="there is no nvcc")

ARCHITECTURES = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]
SOURCE = """
#include "scale.h"
#include <stdexcept>
#include <string>
template <class T> __global__ void axpy(int n, T a, const T *x, T *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += SCALE * a * x[i];
}
extern "C" __attribute__((visibility("default"))) int scale() { return SCALE; }
extern "C" __attribute__((visibility("default"))) const char *run() {
  static std::string said;
  try {
    axpy<float><<<1, 32>>>(0, 1.f, nullptr, nullptr);
    if (const auto error = cudaGetLastError()) throw std::runtime_error(cudaGetErrorName(error));
  } catch (const std::exception &error) {
    said = error.what();
  }
  return said.c_str();
}
"""

Text = Callable[..., CudaText]


@pytest.fixture
def text(tmp_path: Path) -> Text:
    """What a back end gets of a source."""

    def of(source: str, name: str = "kernel.cu") -> CudaText:
        path = tmp_path / name
        path.write_text(source)
        (tmp_path / "scale.h").touch()
        return CudaText(path.stem, f"{line_directive(path)}\n{source}", path)

    return of


@pytest.mark.slow
def test_a_library_needs_no_file_of_the_toolkit_and_no_gpu(text: Text, tmp_path: Path) -> None:
    source = text(SOURCE)
    (tmp_path / "scale.h").write_text("#define SCALE 2\n")
    first = Nvcc().built(source, Options())
    assert Nvcc().built(source, Options()).cached
    library = ctypes.CDLL(str(first.path))
    assert library.scale() == 2
    readelf = shutil.which("readelf")
    if readelf:
        words = [readelf, "--wide", "--dynamic", str(first.path)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+?)\.so", said)
        assert set(needed) <= {"libstdc++", "libgcc_s", "libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}
    library.run.restype = ctypes.c_char_p
    if not _has_gpu():
        assert library.run() in (b"cudaErrorInsufficientDriver", b"cudaErrorNoDevice")
    (tmp_path / "scale.h").write_text("#define SCALE 3\n")
    second = Nvcc().built(source, Options())
    assert not second.cached
    assert ctypes.CDLL(str(second.path)).scale() == 3
    assert library.scale() == 2


def _has_gpu() -> bool:
    try:
        return bool(ctypes.CDLL("libcuda.so.1").cuInit(0) == 0)
    except OSError:
        return False


@pytest.mark.exhaustive
def test_registers_of_every_generation(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "7.5;8.0;9.0;10.0;12.0+PTX")
    source = text(
        "__global__ void light(int n, const float *x, float *y) {\n"
        "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = expf(x[i]);\n"
        "}\n"
        "__global__ void __launch_bounds__(1024) heavy(const double *x, double *y) {\n"
        "  __shared__ double held[64];\n"
        "  double v[64];\n"
        "  for (int i = 0; i < 64; ++i) v[i] = held[i] = x[i * 1024 + threadIdx.x];\n"
        "  __syncthreads();\n"
        "  for (int k = 0; k < 3; ++k)\n"
        "    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 7) % 64] + held[63 - i];\n"
        "  for (int i = 0; i < 64; ++i) y[i * 1024 + threadIdx.x] = v[i];\n"
        "}\n"
    )
    built = Nvcc().built(source, Options(extra_cuda_cflags=("-Xptxas=-v", "--no-compress")))
    assert built.log is not None
    found = {(use.kernel, use.architecture): use for use in ptxas.usage(built.log.read_text())}
    light, heavy = "light(int, float const*, float*)", "heavy(double const*, double*)"
    assert sorted(found) == sorted((kernel, gpu) for kernel in (light, heavy) for gpu in ARCHITECTURES)
    for gpu in ARCHITECTURES:
        assert (found[light, gpu].spilled, found[light, gpu].stack, found[light, gpu].shared) == (0, 0, 0)
        assert 4 < found[light, gpu].registers <= 32
        assert found[heavy, gpu].registers <= 64  # what 1024 threads leave of 65536
        assert found[heavy, gpu].spilled > 0
        assert found[heavy, gpu].shared >= 64 * 8
    assert b".target sm_120" in built.path.read_bytes()


ERRORS = {
    "template": (
        """#include "assign.h"
template <class T> __global__ void k(T *x) {
  assign(x);
}
void run(float *x) { k<float><<<1, 1>>>(x); }
""",
        r"""assign.h:2: error: a value of type "const char \*" cannot be assigned to an entity of type "float"
(?s:.*)at line 3 of .*kernel.cu
.*at line 5 of .*kernel.cu
""",
    ),
    "our header": (
        """#include <opwright.h>
#include <vector>
void run() { opwright::Workspace<std::vector<int>> w(3); }
""",
        """kernel.cu:3: error: static assertion failed with "workspace elements are raw memory"\n.*workspace.h:""",
    ),
    "shared memory": (
        """__global__ void big(float *x) {
  __shared__ float held[20000];
  held[threadIdx.x] = x[0]; __syncthreads(); x[0] = held[3];
}
""",
        r"""kernel.cu: error: big\(float\*\) has 80000 bytes of __shared__ variables, and a block can have 49152
  likely fix: make them smaller, or take dynamic shared memory""",
    ),
}
RARER_ERRORS = {
    "host function": (
        """int host_only(int x);
__global__ void k(int *x) { x[0] = host_only(3); }
""",
        r"""kernel.cu:2: error: calling a __host__ function\("host_only\(int\)"\) from a __global__ function""",
    ),
    "no header": ("#include <nowhere.h>\n", r"kernel.cu:1:10: error: nowhere.h: No such file or directory\n"),
    "undefined": (
        """__device__ int elsewhere(int);
__global__ void k(int *x) { x[0] = elsewhere(3); }
""",
        r"""kernel.cu: error: elsewhere\(int\) is called on the device, but is defined in no header and not in this file
  likely fix: include its definition""",
    ),
    "assembly": (
        """__global__ void k(float *x) { asm("nonsense %0;" : : "f"(x[0])); }
""",
        r"kernel.cu: error: ptxas: Not a name of any known instruction: 'nonsense'\n  likely fix: look at what",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(pytest.param(*each, id=name) for name, each in ERRORS.items()),
        *(pytest.param(*each, id=name, marks=pytest.mark.exhaustive) for name, each in RARER_ERRORS.items()),
    ],
)
def test_errors_name_the_authors_line(
    text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: str
) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0")  # for sm_90a, nvcc 13.0 accepts this one
    (tmp_path / "assign.h").write_text(
        '#pragma once\ntemplate <class T> __device__ void assign(T *p) { *p = "text"; }\n'
    )
    with pytest.raises(CompileError) as caught:
        Nvcc().build(text(source), Options())
    assert re.search(expected, str(caught.value)), str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "opwright.cu" not in str(caught.value).partition("full log")[0]


@pytest.mark.slow
def test_words_for_both_compilers(text: Text) -> None:
    source = text(
        "#if !defined(A) || !defined(B) || !defined(_OPENMP) || !defined(__FAST_MATH__)\n#error words\n#endif\n"
        "#ifdef __CUDA_ARCH__\nstatic_assert(__CUDA_ARCH__ == 800);\n#endif\n"
        "__global__ void k(float *x) { auto f = [] __device__(float y) { return y; }; x[0] = f(x[1]); }\n"
    )
    options = Options(
        extra_cflags=("-DA", "-D", "B=1", "-fopenmp", "-ffast-math"),
        extra_cuda_cflags=("-arch=sm_80", "--maxrregcount=32"),
        extra_ldflags=("-fopenmp",),
    )
    assert Nvcc().build(source, options).exists()
