"""nvcc's release against the CUDA that PyTorch was built with: by `load`, by setuptools, and by the doctor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright import ToolchainError
from opwright.aten import build, pytorch
from opwright.aten.pytorch import Torch, find_torch
from opwright.cpp_extension import load
from opwright.toolchain import Compiler

NVCC = Compiler("/cuda/bin/nvcc", "nvcc", (12, 4), "x86_64-linux-gnu", "")


def built_with(cuda: str | None) -> Torch:
    return find_torch()._replace(cuda=cuda, version="2.13.0+cu130", root=Path("/there/torch"))


@pytest.mark.parametrize(("theirs", "said"), [(None, ""), ("12.4", ""), ("12.8", "minor versions fit each other")])
def test_versions_that_fit(theirs: str | None, said: str) -> None:
    found = pytorch.check_toolkit_version(NVCC, built_with(theirs))
    assert (said in found, bool(found)) == (True, bool(said))


@pytest.mark.parametrize("theirs", ["13.0", "11.8"])
def test_another_major_version(theirs: str) -> None:
    with pytest.raises(ToolchainError) as raised:
        pytorch.check_toolkit_version(NVCC, built_with(theirs))
    assert str(raised.value).startswith(
        "/cuda/bin/nvcc is CUDA 12.4's, but PyTorch 2.13.0+cu130 in /there/torch was built with CUDA " + theirs
    )
    assert f"likely fix: set CUDA_HOME to a toolkit {theirs}" in str(raised.value)
    assert "or install a PyTorch for CUDA 12 " in str(raised.value)


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CUDA 12.4 whose compiler leaves an empty file."""
    script = tmp_path / "cuda" / "bin" / "nvcc"
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh\necho "Cuda compilation tools, release 12.4, V12.4.1"\n')
    script.chmod(0o755)
    (tmp_path / "cuda" / "include").mkdir()
    (tmp_path / "cuda" / "lib64").mkdir()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    return script


def refuse_to_compile(*_args: object) -> None:
    raise AssertionError("something was compiled")


@pytest.mark.parametrize("name", ["kernel.cu", "plain.cpp"])
def test_load_says_it_before_anything_is_compiled(
    name: str, toolkit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "find_torch", lambda: built_with("13.0"))
    monkeypatch.setattr(build, "build", refuse_to_compile)
    (tmp_path / name).write_text("int one() { return 1; }\n")
    with pytest.raises(ToolchainError, match=rf"^{toolkit} is CUDA 12.4's, but PyTorch .* was built with CUDA 13.0"):
        load("mixed", [tmp_path / name], with_cuda=True)


def test_setuptools_says_it(toolkit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from setuptools import Distribution
    from setuptools.errors import CompileError

    from opwright.cpp_extension import BuildExtension, CUDAExtension

    monkeypatch.setattr(build, "find_torch", lambda: built_with("13.0"))
    monkeypatch.setattr(build, "build", refuse_to_compile)
    monkeypatch.chdir(tmp_path)
    Path("kernel.cu").write_text("int one() { return 1; }\n")
    command = BuildExtension(Distribution({"ext_modules": [CUDAExtension("mixed", ["kernel.cu"])]}))
    command.ensure_finalized()
    with pytest.raises(CompileError, match=rf"{toolkit} is CUDA 12.4's, but PyTorch .* was built with CUDA 13.0"):
        command.run()


def test_a_minor_version_is_told_and_no_more(
    toolkit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "find_torch", lambda: find_torch()._replace(cuda="12.8"))
    path = tmp_path / f"minor_{os.getpid()}.cpp"
    path.write_text('extern "C" int one() { return 1; }\n')
    with pytest.raises(Exception, match=r"finds no library (c10_cuda|torch_cuda|cudart)"):  # of a PyTorch for the CPU
        load("minor", [path], with_cuda=True, is_python_module=False, verbose=True)
    assert (
        f"opwright: CUDA 12.4 ({toolkit}), PyTorch has 12.8: minor versions fit each other" in capsys.readouterr().err
    )
