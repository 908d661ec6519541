"""The native runtime in the cache, for every environment with the same PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from opwright.runtime.native import prebuilt, shared
from opwright.runtime.native.runtime import Native, build_native

pytestmark = pytest.mark.native
ROOT = Path(__file__).parents[2]


@pytest.fixture
def built() -> Path:
    """The runtime for this PyTorch in the tests' own cache: in an empty one it would be built anew."""
    return build_native().path


@pytest.fixture
def cache(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, which was then given the runtime for this PyTorch."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    assert shared.find_shared() is None
    shared.share(built)
    return tmp_path / "opwright"


def test_it_is_found_and_can_be_loaded(cache: Path) -> None:
    found = shared.find_shared()
    assert found is not None
    assert found.is_relative_to(cache / "runtimes")
    assert Native(found).namespace_in_use(b"aten")


def test_one_in_a_cache_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refused)
    found = shared.find_shared()
    assert found is not None
    assert found.is_relative_to(cache)


def test_one_in_the_read_only_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("OPWRIGHT_READ_ONLY_CACHE", str(tmp_path))
    (library,) = cache.glob("runtimes/*/*/runtime.so")
    before = library.parents[1].stat().st_mtime_ns
    assert shared.find_shared() == library
    assert library.parents[1].stat().st_mtime_ns == before


def test_sharing_again_changes_nothing(built: Path, cache: Path) -> None:
    (file,) = cache.glob("runtimes/*/*/runtime.so")
    before = file.stat()
    shared.share(built)
    assert os.path.samestat(before, file.stat())
    assert before.st_mtime_ns == file.stat().st_mtime_ns


@pytest.mark.usefixtures("cache")
def test_another_pytorch_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, value in (
        (torch, "__version__", f"{torch.__version__}.other"),
        (torch.version, "git_version", "0123"),
        (shared, "build_id", lambda _: "0123"),
        (prebuilt, "_sources", lambda: "0123"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(owner, name, value)
            assert shared.find_shared() is None
    assert shared.find_shared() is not None


def test_a_damaged_one_and_one_that_others_can_write(built: Path, cache: Path) -> None:
    (library,) = cache.glob("runtimes/*/*/runtime.so")
    (cache / "runtimes").chmod(0o777)
    assert shared.find_shared() is None
    (cache / "runtimes").chmod(0o700)
    assert shared.find_shared() is not None
    library.write_bytes(library.read_bytes()[:-1])
    assert shared.find_shared() is None
    shared.share(built)
    assert shared.find_shared() == library


def test_a_second_environment_builds_nothing(cache: Path, tmp_path: Path) -> None:
    """PyTorch stands in another folder there, and there is no compiler."""
    site = tmp_path / "another" / "site-packages"
    site.mkdir(parents=True)
    (site / "torch").symlink_to(Path(torch.__file__).parent)
    code = "import torch, opwright.runtime.native.runtime as r; print(torch.__file__); print(r.native()._library._name)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": f"{site}:{ROOT / 'src'}", "CC": "/none", "CXX": "/none"},
        capture_output=True,
        text=True,
        check=True,
    )
    found, loaded = done.stdout.split()
    assert Path(found).is_relative_to(site)
    assert Path(loaded).is_relative_to(cache / "runtimes")
