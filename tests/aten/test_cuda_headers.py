"""Headers of CUDA that are missing: told before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright import ToolchainError
from opwright.aten.compat import needed
from opwright.aten.cuda_headers import check_headers
from opwright.aten.pytorch import Torch, find_torch

CONFIGURED = "c10/cuda/impl/cuda_cmake_macros.h"
PYTORCH = {
    "ATen/cuda/CUDAContext.h": "#pragma once\n#include <ATen/cuda/CUDAContextLight.h>\n",
    "ATen/cuda/CUDAContextLight.h": (
        "#if !defined(TORCH_STABLE_ONLY)\n#pragma once\n#include <cuda_runtime_api.h>\n#include <cublas_v2.h>\n"
        "#ifdef USE_CUDSS\n#include <cudss.h>\n#endif\n#include <c10/cuda/CUDAFunctions.h>\n#endif\n"
    ),
    "c10/cuda/CUDAFunctions.h": "#include <c10/cuda/CUDAMacros.h>\n",
    "c10/cuda/CUDAMacros.h": (
        "#ifndef C10_USING_CUSTOM_GENERATED_MACROS\n#ifndef C10_CUDA_NO_CMAKE_CONFIGURE_FILE\n"
        f"#include <{CONFIGURED}>\n#endif\n#endif\n"
    ),
    "c10/cuda/CUDAStream.h": "#include <c10/cuda/CUDAFunctions.h>\n",
}
PLAIN = "#include <torch/extension.h>\n#ifdef WITH_CUDA\n#include <ATen/cuda/CUDAContext.h>\n#endif\n"
CONTEXT = "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n"


class Machine:
    """A folder with PyTorch, a toolkit and a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in PYTORCH.items():
            self.write(f"torch/include/{name}", text)
        for name in ("cuda_runtime_api.h", "cublas_v2.h"):
            self.write(f"cuda/include/{name}", "")
        self.write(f"torch/include/{CONFIGURED}", "")
        self.torch = Torch(root / "torch", "2.0+cpu", None, "")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, text: str, suffix: str = ".cpp", *flags: str) -> None:
        source = self.write(f"src/op{suffix}", text)
        folders = [str(self.root / "torch/include"), str(self.root / "cuda/include")]
        check_headers(source, flags, needed([source]), self.torch, folders, is_cuda=suffix == ".cu")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_is_there_passes(machine: Machine) -> None:
    for text in (PLAIN, CONTEXT, "#include <THC/THC.h>\ncudaStream_t s = THCState_getCurrentStream(state);\n"):
        machine.check(text)
        machine.check(text, ".cu")


def test_a_pytorch_without_cuda(machine: Machine) -> None:
    (machine.root / "torch/include" / CONFIGURED).unlink()
    machine.check(PLAIN)
    machine.check(CONTEXT, ".cpp", "-DC10_USING_CUSTOM_GENERATED_MACROS")
    machine.check("THCState_getCurrentStream(state);")  # which is left out where PyTorch has no CUDA
    with pytest.raises(ToolchainError) as raised:
        machine.check(CONTEXT)
    assert str(raised.value) == (
        f"{machine.root}/src/op.cpp includes <ATen/cuda/CUDAContext.h>, which needs a PyTorch with CUDA; the one in "
        f"{machine.root}/torch is 2.0+cpu\n  likely fix: pip install a PyTorch with CUDA (pytorch.org says how)"
    )
    for text in ('#include "mine.h"\n', "#include <THC/THC.h>\nTHCState_getCurrentStream(state);"):
        machine.write("src/mine.h", CONTEXT)
        with pytest.raises(ToolchainError, match="needs a PyTorch with CUDA"):
            machine.check(text, ".cu")


def test_a_toolkit_without_a_library(machine: Machine, tmp_path: Path) -> None:
    (machine.root / "cuda/include/cublas_v2.h").unlink()
    machine.check("#include <c10/cuda/CUDAStream.h>\n", ".cu")
    with pytest.raises(ToolchainError) as raised:
        machine.check(CONTEXT, ".cu")
    assert str(raised.value).startswith(
        f"{machine.root}/src/op.cu includes <ATen/cuda/CUDAContext.h>, which needs cublas_v2.h; the CUDA toolkit is "
        f"without it: {machine.root}/cuda/include\n  likely fix: install the development files of cublas, in"
    )
    machine.write("blas/cublas_v2.h", "")
    machine.check(CONTEXT, ".cu", "-I", str(tmp_path / "blas"))


def test_the_installed_headers_say_whether_pytorch_has_cuda(machine: Machine) -> None:
    include = find_torch().include_dirs[0]
    source = machine.write("src/op.cpp", "#include <torch/extension.h>\n#include <c10/cuda/CUDAGuard.h>\n")
    folders = [str(include), str(machine.root / "cuda/include")]
    machine.write("cuda/include/cuda_runtime_api.h", "")
    if (Path(include) / CONFIGURED).exists():
        pytest.skip("this PyTorch has CUDA")
    with pytest.raises(ToolchainError, match="which needs a PyTorch with CUDA"):
        check_headers(source, (), needed([source]), find_torch(), folders, is_cuda=False)
