"""The words for the compilers, and the toolkit they belong to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.aten.flags import cpp_flags, cuda_flags, macro_names, split_flags
from opwright.aten.pytorch import cuda_home, find_torch, libraries
from opwright.errors import ToolchainError
from opwright.toolchain.compilers import nvcc


def test_words_are_split_as_a_shell_does_it() -> None:
    assert split_flags(["-L/a -lb", '-DX="a b"', "-g"]) == ["-L/a", "-lb", "-DX=a b", "-g"]


def test_what_the_user_says_is_said_once() -> None:
    assert "-std=c++20" in cpp_flags([])
    assert "-std=c++20" not in cpp_flags(["-std=c++23"])
    assert "-O1" in cpp_flags([])
    assert "-O1" not in cpp_flags(["-O3"])
    assert not any(word.startswith(("-std", "-O")) for word in cuda_flags(["-std=c++20", "-O2", "-arch=sm_90"], "nvcc"))
    assert not any("gencode" in word for word in cuda_flags(["-arch=sm_90"], "nvcc"))


def test_the_names_that_words_define() -> None:
    assert macro_names(["-DA=1", "-O2", "-D", "B", "-DC", "-UD", "x-DE", "-DA", "-Wl,-DF"]) == ["A", "B", "C"]


def toolkit(folder: Path) -> Path:
    for name in ("bin/nvcc", "include/cuda_runtime.h"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('#!/bin/sh\necho "release 12.4, V12.4.1"\n')
        (folder / name).chmod(0o755)
    return folder


def test_a_script_called_nvcc_makes_no_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert nvcc.cuda_home() != str(tmp_path)
    toolkit(tmp_path)
    assert nvcc.cuda_home() == str(tmp_path)


def test_what_cuda_home_says_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / "cuda")))
    assert cuda_home() == str(tmp_path / "cuda")
    assert nvcc.find_nvcc().version == (12, 4)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(
        ToolchainError, match=r"no CUDA compiler at .*nothing/bin/nvcc \(CUDA_HOME=.*nothing\)\n  likely fix: set"
    ):
        nvcc.find_nvcc()
    (tmp_path / "cuda" / "bin" / "nvcc").write_text("#!/bin/sh\necho hello\n")
    monkeypatch.setenv("PYTORCH_NVCC", str(tmp_path / "cuda" / "bin" / "nvcc"))
    os.utime(tmp_path / "cuda" / "bin" / "nvcc", (1, 1))
    with pytest.raises(ToolchainError, match=r"--version failed or isn't nvcc's; it answered:\nhello"):
        nvcc.find_nvcc()


def test_pytorch_is_found_without_importing_it() -> None:
    code = "import sys; from opwright.aten.pytorch import find_torch as f; print(f().version, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import torch

    assert done.stdout.split() == [torch.__version__, "False"]
    assert find_torch().cuda == torch.version.cuda
    names = libraries(find_torch(), cuda=False, python=True)
    assert names == ["c10", "torch_cpu", "torch", "torch_python"]
