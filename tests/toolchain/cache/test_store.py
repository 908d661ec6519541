"""The cache folder is private, and what goes into it appears whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import Built, cache_root
from opwright.toolchain.cache import folder as folder_module
from opwright.toolchain.cache import store
from opwright.toolchain.cache.folder import private_folder, write_atomically
from opwright.toolchain.cache.scratch import scratch

Compile = Callable[..., Built]
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


def test_it_is_made_private(cache: Path) -> None:
    old = os.umask(0)
    try:
        assert cache_root() == cache
    finally:
        os.umask(old)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert cache_root() == cache


def test_without_the_variable_it_is_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    for xdg in (None, "", str(tmp_path / "xdg")):
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        if xdg is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", xdg)
        import platformdirs

        assert cache_root() == Path(platformdirs.user_cache_dir("opwright", appauthor=False))
        assert tmp_path in cache_root().parents


def test_on_other_systems_platformdirs_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import platformdirs

    monkeypatch.delenv("TORCH_EXTENSIONS_DIR")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name, appauthor: str(tmp_path / "Caches" / name))
    assert cache_root() == tmp_path / "Caches" / "opwright"


def test_a_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", "here")
    assert cache_root() == tmp_path / "here" / "opwright"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(
    mode: int, cache: Path, compile_source: Compile, answering: Callable[..., Path]
) -> None:
    cache.mkdir(parents=True)
    cache.chmod(mode)
    with pytest.raises(ToolchainError, match=rf"has mode 0{mode & 0o777:o}.*expected 0700\n  likely fix: .*chmod 700"):
        compile_source(answering("1"))
    cache.chmod(0o755)  # others may read
    assert cache_root() == cache


@pytest.mark.parametrize("mode", [0o1777, 0o775, 0o2770, 0o755])
def test_the_folder_around_it_may_be_shared(mode: int, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.parent.chmod(mode)
    assert cache_root() == cache


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_folder_that_anybody_can_replace_is_refused(
    exists: bool, depth: int, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(shared if depth == 1 else shared / "deeper"))
    shared.mkdir()
    if exists:
        cache_root()
    folder_module._CHECKED.clear()  # as in a new process
    shared.chmod(0o777)
    with pytest.raises(
        ToolchainError, match=rf"lies below {shared}, which has mode 0777: anybody can .*\n  likely fix: chmod o-w "
    ):
        cache_root()
    assert exists or not list(shared.iterdir())
    shared.chmod(0o1777)
    assert cache_root().is_dir()


@as_root
def test_a_sticky_folder_is_its_owners(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.parent.chmod(0o1777)
    os.chown(cache.parent, 12345, -1)
    with pytest.raises(ToolchainError, match=r"a folder for everybody that belongs to user 12345, who can put another"):
        cache_root()


@as_root
def test_another_users_folder_is_refused(cache: Path) -> None:
    cache.mkdir(parents=True)
    os.chown(cache, 12345, -1)
    with pytest.raises(ToolchainError, match=r"belongs to user 12345, not to user 0 .*\n  likely fix: set TORCH_EXT"):
        cache_root()


def test_another_users_folder_is_refused_for_us(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    with pytest.raises(ToolchainError, match="code from another user's folder is not run"):
        cache_root()


def test_a_file_in_its_place(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("")
    with pytest.raises(ToolchainError, match="is not a folder"):
        cache_root()


def test_a_place_that_can_not_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "file" / "deeper"))
    with pytest.raises(
        ToolchainError, match=r"can't write to the build cache .*\n  likely fix: .*TORCH_EXTENSIONS_DIR"
    ):
        cache_root()


def test_a_disk_that_is_full_when_publishing(
    compile_source: Compile, answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    def full(path: Path, data: str | bytes, work: Path | None = None) -> None:
        raise OSError(28, "No space left on device")

    source = answering("1")
    compile_source(answering("2", path=source))
    monkeypatch.setattr(store, "write_atomically", full)
    with pytest.raises(ToolchainError, match=r"No space left on device\n  likely fix: free"):
        compile_source(answering("3", path=source))
    monkeypatch.undo()
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(cache.parent))
    assert list(cache.rglob(".work-*")) == []
    assert not compile_source(source).cached
    assert compile_source(source).cached


def test_a_cache_that_can_only_be_read_still_serves(
    compile_source: Compile, answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = answering("1")
    compile_source(source)

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("mkdir", "replace", "rename", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert compile_source(source).cached


def test_atomic_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    write_atomically(target, "ä\udcff")
    assert target.read_bytes() == "ä".encode() + b"\xff"
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_atomically(target, b"newer")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_scratch_clears_up_after_the_killed(tmp_path: Path) -> None:
    for name in (".work-1-dead", ".free-2-alive"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "library.so").write_text("")
    with scratch(tmp_path, alone=False) as work:
        assert work.is_dir()
        assert {path.name for path in tmp_path.iterdir()} == {".work-1-dead", ".free-2-alive", work.name}
    with scratch(tmp_path, alone=True) as work:
        assert {path.name for path in tmp_path.iterdir()} == {".free-2-alive", work.name}
    assert [path.name for path in tmp_path.iterdir()] == [".free-2-alive"]
    with pytest.raises(KeyboardInterrupt), scratch(tmp_path, alone=True):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == [".free-2-alive"]


@pytest.mark.slow
def test_records_are_bounded(compile_source: Compile, answering: Callable[..., Path], project: Path) -> None:
    source = answering("VALUE", '#include "value.h"')
    for value in range(store.Cache.KEPT + 2):
        (project / "value.h").write_text(f"#define VALUE {value}\n")
        folder = compile_source(source).path.parent
    import json

    assert len(json.loads((folder / "manifest.json").read_text())) == store.Cache.KEPT
    assert compile_source(source).cached


def test_private_folder_makes_parents(tmp_path: Path) -> None:
    assert private_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
