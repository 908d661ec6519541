"""CUDA toolkits that are missing, broken, or of another version."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.doctor import cuda
from opwright.doctor.cuda_facts import find_toolkit
from tests.broken import script
from tests.doctor.findings import CUDA_TORCH, TORCH, Look, only, the


def test_cuda_home_points_nowhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/nowhere/cuda")
    found = the(look("cuda"), "toolkit")
    assert (found.state, found.text) == ("wrong", "CUDA_HOME=/nowhere/cuda: there is no folder /nowhere/cuda")
    assert found.fix.startswith("unset CUDA_HOME, or set it to the folder that has bin/nvcc and include")


def test_cuda_home_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    found = only(cuda.examine(find_toolkit(), TORCH), "toolkit")
    assert (found.state, found.text) == ("wrong", f"CUDA_PATH={tmp_path}: there is no compiler {tmp_path}/bin/nvcc")


_NVCC = """case "$1" in
  --version) echo 'Cuda compilation tools, release 12.4, V12.4.99';;
  --list-gpu-arch) echo compute_80; echo compute_90;;
  --dryrun) echo '#$ TOP='{top} >&2;;
esac"""


def toolkit_in(folder: Path, *, header: bool = True) -> Path:
    script(folder / "bin" / "nvcc", _NVCC.replace("{top}", str(folder)))
    if header:
        (folder / "include" / "crt").mkdir(parents=True)
        (folder / "include" / "cuda_runtime.h").touch()
        (folder / "include" / "crt" / "host_config.h").write_text(
            "#if __GNUC__ > 9\n#endif\n#if (__clang_major__ >= 12) || (__clang_major__ < 3)\n#endif\n"
        )
    return folder


def test_nvcc_on_the_path_is_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PyTorch takes the folder above for the toolkit, and finds no header there."""
    real = toolkit_in(tmp_path / "cuda-12.4")
    script(tmp_path / "bin" / "nvcc", f'exec {real}/bin/nvcc "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = only(cuda.examine(find_toolkit(), CUDA_TORCH), "toolkit")
    assert found.state == "wrong"
    assert f"there is no header {tmp_path}/include/cuda_runtime.h (nvcc itself lies in {real})" in found.text
    assert found.fix == f"export CUDA_HOME={real}"
    assert only(cuda.examine(find_toolkit(), TORCH), "toolkit").state == "note"  # nothing on the CPU needs it


def test_a_toolkit_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path)))
    toolkit = find_toolkit()
    assert toolkit
    assert (toolkit.version, toolkit.gpus, toolkit.newest_gcc, toolkit.newest_clang) == ("12.4", ("80", "90"), 9, 11)
    found = list(cuda.examine(toolkit, CUDA_TORCH))
    mismatch, host = only(found, "against PyTorch"), only(found, "host compiler")
    assert mismatch.state == host.state == "wrong"
    assert "the toolkit is CUDA 12.4, but PyTorch was built with 13.0" in mismatch.text
    assert "is too new for CUDA 12.4" in host.text
    assert only(cuda.examine(toolkit, TORCH), "host compiler").state == "note"


def test_an_nvcc_that_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "nvcc", "echo 'nvcc fatal: no license'; exit 1")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = only(cuda.examine(find_toolkit(), TORCH), "toolkit")
    assert f"{tmp_path}/bin/nvcc can't be run: nvcc fatal: no license (status 1)" in found.text


def test_no_toolkit_is_no_failure() -> None:
    (found,) = [f for f in cuda.examine(None, CUDA_TORCH) if f.topic == "toolkit"]
    assert (found.state, "install the toolkit 13.0" in found.fix) == ("note", True)


def test_two_toolkits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", "/usr")
    assert only(cuda.examine(find_toolkit(), TORCH), "variables").state == "wrong"
