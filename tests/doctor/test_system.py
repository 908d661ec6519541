"""What is found about the build cache and about packages."""

from __future__ import annotations

import ast
import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opwright.doctor import system
from tests.broken import FULL, READ_ONLY, mounted
from tests.doctor.findings import Look, the, wrong


def test_a_system_that_there_is_no_opwright_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    finding = next(finding for finding in system.examine_system() if finding.topic == "machine")
    assert (finding.state, finding.text) == ("wrong", "there is no Opwright for Darwin")
    assert finding.fix == "use Linux, in a container or a virtual machine"


def test_packages_that_are_missing_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    installed = {"opwright": "1.0", "click": "7.0", "rich": "15.0"}
    asked = ["click>=8.1", "rich>=13.7", "tree-sitter>=0.24", "matplotlib>=3.8; extra == 'bench'"]
    asked += [
        "ruff>=0.1; extra == 'dev'",
        "mkdocs>=1; extra == 'docs'",
        "opwright[bench]; extra == 'all'",
        "colorama>=0; sys_platform == 'win32'",
    ]

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    class Metadata:
        @staticmethod
        def get_all(_key: str) -> list[str]:
            return ["bench", "dev", "docs", "all"]

    monkeypatch.setattr(metadata, "requires", lambda _name: asked)
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "metadata", lambda _name: Metadata)
    found = {finding.topic: finding for finding in system.examine_packages()}
    assert found.keys() == {"opwright", "click", "rich", "tree-sitter", "matplotlib"}
    assert (found["click"].state, found["click"].text) == ("wrong", "7.0 is installed, expected click>=8.1")
    assert (found["tree-sitter"].state, found["tree-sitter"].fix) == ("wrong", 'pip install "tree-sitter>=0.24"')
    assert (found["matplotlib"].state, found["matplotlib"].fix) == ("note", "pip install opwright[bench]")


def test_a_cache_as_it_should_be(look: Look, cache: Path) -> None:
    found = look("cache")
    assert not wrong(found)
    assert str(cache) in the(found, "folder").text
    assert "limit 5.0 GiB" in the(found, "size").text
    assert list(cache.iterdir()) == []  # what was tried is gone


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_cache(look: Look, cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    found = the(look("cache"), "writing")
    assert (found.state, "Permission denied" in found.text) == ("wrong", True)


def test_a_cache_on_a_read_only_file_system(look: Look, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = open

    def refusing(path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if ".doctor-" in str(path):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(path, mode, *args, **options)

    monkeypatch.setattr(builtins, "open", refusing)
    found = the(look("cache"), "writing")
    assert found.text == f"can't write to the build cache {cache}: Read-only file system"
    assert "set TORCH_EXTENSIONS_DIR to a folder of your own" in found.fix


def test_a_cache_that_is_a_file(look: Look, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    found = the(look("cache"), "folder")
    assert (found.state, found.text) == ("wrong", f"the build cache {cache} is not a folder")


def test_a_cache_that_others_can_write_to(look: Look, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    found = the(look("cache"), "folder")
    assert found.state == "wrong"
    assert "others can put code into it" in found.text


def test_a_full_disk(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    def nearly_full(path: Any) -> Any:
        found = real(path)
        return SimpleNamespace(f_bavail=10, f_frsize=4096, f_files=found.f_files, f_favail=found.f_favail or 1)

    monkeypatch.setattr(os, "statvfs", nearly_full)
    found = the(look("cache"), "space")
    assert (found.state, "only 40.0 KiB are free" in found.text) == ("wrong", True)
    assert "opwright cache clean" in found.fix


@pytest.mark.parametrize(
    ("mount", "topics", "says"),
    [(FULL, {"writing", "space"}, errno.ENOSPC), (READ_ONLY, {"writing"}, errno.EROFS)],
    ids=["full", "read-only"],
)
def test_real_file_systems(mount: str, topics: set[str], says: int, tmp_path: Path) -> None:
    """Small ones of the test's own."""
    code = "from opwright.doctor import examine; print([(f.topic, f.text) for _, f in examine(['cache']).wrong])"
    found: list[tuple[str, str]] = ast.literal_eval(mounted(mount, tmp_path / "small", "-c", code))
    assert {topic for topic, _ in found} == topics
    assert os.strerror(says) in found[0][1]


def test_a_cache_where_nothing_can_be_run_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look) -> None:

    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"23 22 0:5 / {tmp_path} rw,nosuid,noexec shared:2 - tmpfs tmpfs rw\n"
    )
    real = system.mount_of
    monkeypatch.setattr(system, "mount_of", lambda path: real(path, str(table)))
    found = the(look("cache"), "file system")
    assert (found.state, found.text) == ("wrong", f"{tmp_path} is mounted noexec: libraries in it can't be loaded")
    table.write_text(f"23 22 0:5 / {tmp_path} rw - nfs4 server:/home rw\n")
    found = the(look("cache"), "file system")
    assert (found.state, "network" in found.text) == ("note", True)


def test_a_limit_that_is_no_size(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", "plenty")
    assert the(look("cache"), "limit").text.startswith("OPWRIGHT_CACHE_SIZE='plenty': expected a size")
