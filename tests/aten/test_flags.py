"""The words for the compilers, and the toolkit they belong to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.aten.flags import architecture_flags, cpp_flags, cuda_flags, words
from opwright.aten.installed import cuda_home, find_torch, libraries
from opwright.errors import ToolchainError
from opwright.toolchain import nvcc

KNOWN = ("75", "80", "86", "89", "90", "100", "120")


def test_words_are_split_as_a_shell_does_it() -> None:
    assert words(["-L/a -lb", '-DX="a b"', "-g"]) == ["-L/a", "-lb", "-DX=a b", "-g"]


def test_what_the_user_says_is_said_once() -> None:
    assert "-std=c++20" in cpp_flags([])
    assert "-std=c++20" not in cpp_flags(["-std=c++23"])
    assert "-O1" in cpp_flags([])
    assert "-O1" not in cpp_flags(["-O3"])
    assert not any(word.startswith(("-std", "-O")) for word in cuda_flags(["-std=c++20", "-O2", "-arch=sm_90"], "nvcc"))
    assert not any("gencode" in word for word in cuda_flags(["-arch=sm_90"], "nvcc"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("", ["arch=compute_75,code=[sm_75,compute_75]"]),  # no GPU: the oldest, to be translated
        ("8.0", ["arch=compute_80,code=sm_80"]),
        (
            "8.0;9.0+PTX",
            ["arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90"],
        ),
        ("9.0a 10.0", ["arch=compute_90a,code=sm_90a", "arch=compute_100,code=sm_100"]),
        ("Ampere", ["arch=compute_80,code=sm_80", "arch=compute_86,code=sm_86", "arch=compute_86,code=compute_86"]),
        ("8.0,8.0", ["arch=compute_80,code=sm_80"]),
    ],
)
def test_architectures(monkeypatch: pytest.MonkeyPatch, asked: str, expected: list[str]) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", asked)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert architecture_flags(KNOWN) == [f"-gencode={each}" for each in expected]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([(8, 0), (9, 0)], ["80,code=sm_80", "90,code=sm_90", "90,code=compute_90"]),
        ([(12, 1)], ["120,code=sm_120", "120,code=compute_120"]),  # newer than this nvcc
        ([(6, 1)], ["75,code=sm_75", "75,code=compute_75"]),
    ],
)
def test_the_gpus_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, gpus: list[tuple[int, int]], expected: list[str]
) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "native")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: len(gpus))
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda index: gpus[index])
    assert architecture_flags(KNOWN) == [f"-gencode=arch=compute_{each}" for each in expected]


def test_the_gpus_are_asked_for_where_nobody_has_imported_pytorch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "class cuda:\n"
        "    is_available = staticmethod(lambda: True)\n"
        "    device_count = staticmethod(lambda: 1)\n"
        "    get_device_capability = staticmethod(lambda index: (9, 0))\n"
    )
    code = "from opwright.aten.flags import architecture_flags; print(*architecture_flags(['75', '90', '120']))"
    environment = {name: value for name, value in os.environ.items() if name != "TORCH_CUDA_ARCH_LIST"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == ("-gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90\n")


@pytest.mark.parametrize("asked", ["3.5", "sm_80", "8", "Kepler2", "80"])
def test_an_architecture_that_is_none(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", asked)
    with pytest.raises(
        ToolchainError, match=f"'{asked}' is no architecture(?s:.*)expected of: 7.5 8.0 .*12.0\n  likely"
    ):
        architecture_flags(KNOWN)


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
    code = "import sys; from opwright.aten.installed import find_torch as f; print(f().version, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import torch

    assert done.stdout.split() == [torch.__version__, "False"]
    assert find_torch().cuda == torch.version.cuda
    names = libraries(find_torch(), cuda=False, python=True)
    assert names == ["c10", "torch_cpu", "torch", "torch_python"]
