"""Where NVRTC is looked for, and what is said where it isn't."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from opwright.cuda.nvrtc import Nvrtc
from opwright.cuda.nvrtc.discovery import find_nvrtc
from opwright.errors import ToolchainError


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No package of NVIDIA's on the search path, no toolkit."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr("opwright.cuda.nvrtc.discovery.cuda_home", lambda: None)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)


def package(home: Path, *, library: str = "libnvrtc.so.13", headers: int | None = 13) -> Path:
    """Make a folder look like CUDA's."""
    (home / "lib").mkdir(parents=True)
    (home / "lib" / library).touch()
    if headers:
        (home / "include").mkdir()
        (home / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {headers}000\n")
        (home / "include" / "cuda_runtime_api.h").touch()
    return home


@pytest.mark.usefixtures("nothing")
def test_nothing_is_there(tmp_path: Path) -> None:
    assert Nvrtc().missing() == (
        "there is no NVRTC here: no package of NVIDIA's, and no CUDA toolkit\n"
        "  likely fix: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime (PyTorch's CUDA wheels bring both), "
        "or set CUDA_HOME"
    )


@pytest.mark.usefixtures("nothing")
def test_the_packages_of_cuda_13_share_a_folder(tmp_path: Path) -> None:
    home = package(tmp_path / "nvidia" / "cu13")
    (home / "lib" / "libnvrtc-builtins.so.13.0").touch()
    found = find_nvrtc()
    assert found.library == str(home / "lib" / "libnvrtc.so.13")
    assert found.builtins == str(home / "lib" / "libnvrtc-builtins.so.13.0")
    assert found.include_dirs == (str(home / "include"),)
    assert not Nvrtc().missing()


@pytest.mark.usefixtures("nothing")
def test_those_of_cuda_12_have_one_each(tmp_path: Path) -> None:
    package(tmp_path / "nvidia" / "cuda_nvrtc", library="libnvrtc.so.12", headers=None)
    runtime = package(tmp_path / "nvidia" / "cuda_runtime", library="libcudart.so.12", headers=12)
    found = find_nvrtc()
    assert (found.major, found.builtins, found.include_dirs) == (12, "", (str(runtime / "include"),))


@pytest.mark.usefixtures("nothing")
def test_a_toolkit_that_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "nvidia" / "cu13")
    named = package(tmp_path / "toolkit")
    monkeypatch.setenv("CUDA_HOME", str(named))
    assert find_nvrtc().library == str(named / "lib" / "libnvrtc.so.13")


def test_what_changes_within_a_process_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATH, and what is installed: nothing is remembered."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("first", "second"):
        home = package(tmp_path / name)
        (home / "include" / "cuda_runtime.h").touch()
        (home / "bin").mkdir()
        (home / "bin" / "nvcc").touch(mode=0o755)
        monkeypatch.setenv("PATH", str(home / "bin"))
        assert find_nvrtc().library == str(home / "lib" / "libnvrtc.so.13")
    installed = package(tmp_path / "packages" / "nvidia" / "cu13")
    assert find_nvrtc().library == str(installed / "lib" / "libnvrtc.so.13")
    (installed / "lib" / "libnvrtc.so.13").unlink()
    assert find_nvrtc().library == str(home / "lib" / "libnvrtc.so.13")


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("headers", [None, 12])
def test_its_headers_are_missing_or_of_another_version(tmp_path: Path, headers: int | None) -> None:
    home = package(tmp_path / "nvidia" / "cu13", headers=headers)
    with pytest.raises(ToolchainError) as caught:
        find_nvrtc()
    assert str(caught.value) == (
        f"NVRTC is at {home}/lib/libnvrtc.so.13, but CUDA's headers of the same version (cuda_runtime_api.h, cuda.h) "
        f"aren't in {home}\n  likely fix: pip install nvidia-cuda-runtime==13.*"
    )


@pytest.mark.usefixtures("nothing")
def test_a_library_that_is_none(tmp_path: Path) -> None:
    package(tmp_path / "nvidia" / "cu13")
    from opwright.cuda.nvrtc.discovery import supported_architectures

    with pytest.raises(
        ToolchainError, match=r"(?s)NVRTC at \S+libnvrtc\.so\.13 can't be run: .*file too short.*fix: ins"
    ):
        supported_architectures(find_nvrtc())
