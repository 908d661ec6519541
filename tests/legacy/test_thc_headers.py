"""THC's headers: what they declare is there; they compile as C, C++ and for GPUs, with CUDA's headers and without."""

from __future__ import annotations

import functools
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from opwright.legacy.th_library import exported, header_dirs
from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import symbols
from opwright.toolchain.compilers.nvcc import cuda_home
from tests.legacy.conftest import CSRC
from tests.legacy.headers import TYPES, declared

pytestmark = pytest.mark.native
HEADERS = sorted((header_dirs()[0] / "THC").rglob("*.h"))
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-function", "-Wno-deprecated-declarations", "-Werror")
FLAGS = [*WARNINGS, *(f"-I{folder}" for folder in header_dirs())]
NVCC = shutil.which("nvcc") or ""
needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc")
NEW_TYPES = ("Half", *TYPES)


def _names(of: str) -> set[str]:
    prefix = "THCuda" if of == "Float" else f"THCuda{of}"
    kinds = (f"{prefix}Tensor_", f"{prefix}Storage_")
    return {name.removeprefix(prefix) for name in declared("THC/THC.h") if name.startswith(kinds)}


def test_what_is_declared_is_there() -> None:
    ours = {name for name in declared("THC/THC.h") if not name.startswith("cuda")}
    assert ours - exported() == set()


def test_what_is_there_is_declared() -> None:
    ours = {name for name in exported() if name.startswith(("TH", "_TH"))}
    assert ours - declared("THC/THC.h") == set()
    assert "state" in exported()


@pytest.mark.parametrize("name", NEW_TYPES)
def test_every_type_has_the_same_functions(name: str) -> None:
    floating, only_bytes = _names("Double"), {name for name in _names("Byte") if "logical" in name}
    assert _names(name) - only_bytes <= floating
    if name == "Float":
        assert _names(name) == floating
    if name == "Half":
        assert floating - _names(name) == {"Tensor_copyCPU", "Tensor_copyAsyncCPU", "Storage_copyCPU"}


@pytest.mark.parametrize("name", TYPES)
def test_what_tensors_have_cudas_have_too(name: str) -> None:
    kinds = (f"TH{name}Tensor_", f"TH{name}Storage_")
    ours = {each.removeprefix(f"TH{name}") for each in declared() if each.startswith(kinds)}
    only_cpu = {"Tensor_getRNGState", "Tensor_setRNGState", "Storage_sizeDesc", "Storage_newInferSize"}
    assert ours - _names(name) - only_cpu == set()


def _compile(text: str, *words: str, language: str = "c") -> subprocess.CompletedProcess[str]:
    command = [find_compiler("c").path, *words, *FLAGS, "-x", language, "-", "-fsyntax-only"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


_USE = """
extern THCState *state;
float *data(THCudaTensor *t) { return t->storage->data + t->storageOffset; }
half one(THCudaHalfTensor *t) { THCudaHalfTensor_fill(state, t, THC_float2half(1)); return THC_float2half(1); }
void *both(void) {
  void *memory;
  THCudaCheck(THCudaMalloc(state, &memory, 4));
  THCublasCheck(0);
  THCusparseCheck(0);
  cudaStream_t stream = THCState_getCurrentStream(state);
  cublasHandle_t blas = THCState_getCurrentBlasHandle(state);
  cusparseHandle_t sparse = THCState_getCurrentSparseHandle(state);
  return stream || blas || sparse || cudaGetLastError() != cudaSuccess ? memory : THCudaMalloc(state, 8);
}
"""


def _toolkits() -> list[str]:
    home = cuda_home()
    return ["", *([f"-I{home}/include"] if home else [])]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("toolkit", _toolkits(), ids=lambda word: "toolkit" if word else "no toolkit")
@pytest.mark.parametrize("standard", ["c99", "gnu99", "gnu17", "c++14", "c++20"])
@pytest.mark.parametrize("name", ["THC/THC.h", "THC.h"])
def test_the_headers_compile(name: str, standard: str, toolkit: str) -> None:
    done = _compile(f"#include <{name}>\n{_USE}", f"-std={standard}", *filter(None, [toolkit]),
                    language="c++" if "+" in standard else "c")  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_each_header_stands_alone(path: Path) -> None:
    relative = path.relative_to(header_dirs()[0])
    before = "#include <THC/THCGeneral.h>\n#define THC_GENERIC_FILE <stddef.h>\n" if "THCGenerate" in path.name else ""
    done = _compile(f"{before}#include <{relative}>\n", "-std=c99")
    assert done.returncode == 0, done.stderr


def test_headers_of_cudas_libraries_are_used_where_they_are(tmp_path: Path) -> None:
    text = "typedef struct theirs *cublasHandle_t;\ntypedef enum { GOOD } cublasStatus_t;\n"
    (tmp_path / "cublas_v2.h").write_text(text)
    done = _compile("#include <THC/THC.h>\nstruct theirs *mine(cublasHandle_t h) { return h; }\n", f"-I{tmp_path}")
    assert done.returncode == 0, done.stderr


def test_generic_files_say_what_is_missing() -> None:
    done = _compile("#include <THC/THCGenerateAllTypes.h>\n")
    assert "THCGenerateAllTypes.h includes the file that THC_GENERIC_FILE names: define it first" in done.stderr


def test_generic_code_knows_its_type(tmp_path: Path) -> None:
    text = """
#ifndef THC_GENERIC_FILE
#include <THC/THC.h>
#define THC_GENERIC_FILE "generic.c"
#include <THC/THCGenerateAllTypes.h>
#else
accreal TH_CONCAT_3(mine_, Real, _sum)(THCState *state, THCTensor *t, THCStorage *s, real one) {
  THCTensor_(fill)(state, t, one);
  THCStorage_(fill)(state, s, one);
#if defined(THC_REAL_IS_HALF) || defined(THC_REAL_IS_FLOAT)
  float sum = THCTensor_(sumall)(state, t);
#elif defined(THC_REAL_IS_DOUBLE)
  double sum = THCTensor_(sumall)(state, t);
#else
  int64_t sum = THCTensor_(sumall)(state, t);
#endif
  return sum;
}
#endif
"""
    source, made = tmp_path / "generic.c", tmp_path / "generic.o"
    source.write_text(text)
    command = [find_compiler("c").path, "-c", str(source), "-o", str(made), "-std=c99", f"-I{tmp_path}", *FLAGS]
    subprocess.run(command, check=True)
    assert symbols(made).defined >= {f"mine_{name}_sum" for name in NEW_TYPES}


def _nvcc(*words: str | Path) -> None:
    folders = [f"-I{folder}" for folder in (*header_dirs(), CSRC)]
    done = subprocess.run([NVCC, *words, *folders], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


@needs_nvcc
@pytest.mark.parametrize("name", ["pooling_kernel.cu", pytest.param("generic_thc.cu", marks=pytest.mark.exhaustive)])
def test_sources_of_2017_compile_for_gpus(name: str, tmp_path: Path) -> None:
    _nvcc("-c", CSRC / name, "-o", tmp_path / "kernel.o")
    expected = "pooling_launch" if name == "pooling_kernel.cu" else "demo_Half_histogram"
    assert expected in symbols(tmp_path / "kernel.o").defined


@needs_nvcc
@pytest.mark.exhaustive
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_every_device_header_stands_alone(standard: str, tmp_path: Path) -> None:
    folder = header_dirs()[0]
    for path in sorted((folder / "THC").glob("*.cuh")):
        if path.stem == "THCDeviceTensor-inl":
            continue
        (tmp_path / "a.cu").write_text(f"#include <{path.relative_to(folder)}>\n")
        _nvcc("-c", tmp_path / "a.cu", "-o", tmp_path / "a.o", f"-std={standard}")


@functools.cache
def _on_the_cpu(folder: Path) -> list[str]:
    _nvcc(CSRC / "device_headers.cu", "-o", folder / "device_headers")
    done = subprocess.run([folder / "device_headers"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the device headers give on the CPU."""
    return _on_the_cpu(tmp_path_factory.mktemp("device_headers"))


DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64, torch.float16)


@needs_nvcc
@pytest.mark.exhaustive
def test_arithmetic(lines: list[str]) -> None:
    for dtype, line in zip(DTYPES, lines, strict=False):
        x, y = (7, 3) if dtype == torch.uint8 else (-7.5, 2.5) if dtype.is_floating_point else (-7, 3)
        a, b = torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=dtype)
        info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
        quotient = a / b if dtype.is_floating_point else torch.div(a, b, rounding_mode="trunc")
        expected = [a + b, a - b, a * b, quotient, -a, a.abs(), info.min, info.max, -a]
        *values, flags = line.split()
        assert [float(value) for value in values] == pytest.approx([float(each) for each in expected], rel=1e-8)
        assert flags == "".join(str(int(each)) for each in (x < y, x <= y, x > y, x >= y, x == y, x != y))


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cinv": torch.reciprocal,
    "pow": lambda x: x**x,
    "atan2": lambda x: torch.atan2(x, torch.tensor(2.0, dtype=x.dtype)),
}


@needs_nvcc
@pytest.mark.exhaustive
def test_functions(lines: list[str]) -> None:
    found = [line.split() for line in lines[len(DTYPES) :]]
    count = next(i for i, (name, *_) in enumerate(found) if name == "atan2") + 1
    for block, dtype in enumerate((torch.float32, torch.float64, torch.float16)):
        x = torch.tensor(0.625, dtype=torch.float64)
        for name, value in found[block * count : (block + 1) * count]:
            expected = FUNCTIONS.get(name) or getattr(torch, name)
            rel = {torch.float16: 1e-3, torch.float32: 1e-6}.get(dtype, 1e-8)
            assert float(value) == pytest.approx(float(expected(x)), rel=rel), (name, dtype)


@needs_nvcc
@pytest.mark.exhaustive
def test_device_tensors_and_the_rest(lines: list[str]) -> None:
    found = dict(line.rsplit(" ", 1) for line in lines[lines.index("element 100") :])
    t = torch.arange(24.0).reshape(2, 3, 4)
    expected: dict[str, float | torch.Tensor] = {
        "element": 100, "reference": t[1, 0, 1] + 0.5, "row": t[1, 2, 0], "elements": 24, "contiguous": 1,
        "transposed": 100, "transposed contiguous": 0, "outer": t[1, 2, 0], "inner": t[1, 1, 1],
        "down outer": t.reshape(6, 4)[4, 2], "down inner": t.reshape(2, 12)[1, 7], "down to one": 22,
        "view": t[1, 0, 2], "cast": 0, "same": 1, "address": 16, "as": 1, "collapsed": 1, "offset": 24 + 1,
        "offset of four": 25, "offset in rows": 13, "two left": 1, "kept": 1, "ceil": math.ceil(7 / 3), "round up": 8,
        "field": (0xABCD >> 4) & 0xFF, "set field": 0xA12D,
    }  # fmt: skip
    assert {name: float(value) for name, value in found.items()} == {name: float(x) for name, x in expected.items()}
