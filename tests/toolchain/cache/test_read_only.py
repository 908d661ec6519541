from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import Unit, build
from opwright.toolchain.build.builder import look_up
from opwright.toolchain.cache import eviction
from opwright.toolchain.cache.read_only import VARIABLE, filling, read_only_root

UNIT = Unit("read_only", "int from_a_read_only_cache;\n")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a library of `UNIT`."""
    with filling(tmp_path / "filled"):
        build(UNIT)
    return tmp_path / "filled"


def test_what_is_in_it_is_found_and_left_as_it_is(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(filled))
    (library,) = filled.rglob("*.so")
    os.utime(library, (0, 0))
    built = build(UNIT)
    assert (built.path, built.cached) == (library, True)
    assert look_up(UNIT) == library
    assert library.stat().st_mtime == 0


def test_filling_takes_nothing_from_other_caches_and_evicts_nothing(
    filled: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(filled))
    build(Unit("another", "int another;\n"))
    limits: list[int | None] = []
    monkeypatch.setattr(eviction, "keep_small", lambda _root, limit: limits.append(limit))
    before = dict(os.environ)
    with filling(filled.with_name("second")):
        assert not build(UNIT).cached
        assert not build(Unit("another", "int another;\n")).cached
    assert limits == [None, None]
    assert dict(os.environ) == before
    assert len([*cache.rglob("*.so")]) == 1


def test_others_can_read_it_as_the_umask_allows(tmp_path: Path) -> None:
    for umask, folders, files in ((0o022, 0o755, 0o644), (0o027, 0o750, 0o640), (0o002, 0o755, 0o644)):
        output = tmp_path / f"{umask:o}"
        before = os.umask(umask)
        try:
            with filling(output):
                path = build(UNIT).path
        finally:
            os.umask(before)
        assert path.parent.stat().st_mode & 0o777 == folders
        assert (path.parent / "manifest.json").stat().st_mode & 0o777 == files


def test_a_library_for_another_text_isnt_taken(filled: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(filled))
    assert build(Unit("read_only", "int from_a_read_only_cache = 1;\n")).path.is_relative_to(cache)


def test_what_others_could_have_written_isnt_taken(
    filled: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, str(filled))
    (library,) = filled.rglob("*.so")
    library.chmod(0o777)
    assert build(UNIT).path.is_relative_to(cache)
    said = f"read_only isn't in the read-only cache {filled}/opwright (missing, damaged or open to others: {library}); "
    assert said in caplog.text


def test_a_folder_that_isnt_there_or_isnt_safe_is_an_error(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert read_only_root() is None
    monkeypatch.setenv(VARIABLE, str(filled / "none"))
    with pytest.raises(
        ToolchainError,
        match=rf"^{VARIABLE}={filled}/none: {filled}/none/opwright can't be read: No such file or directory\n"
        rf"  likely fix: fill it: opwright build --output {filled}/none FILES; or unset {VARIABLE}$",
    ):
        build(UNIT)
    monkeypatch.setenv(VARIABLE, str(filled))
    (filled / "opwright").chmod(0o775)
    with pytest.raises(ToolchainError, match=r"opwright has mode 0775: others than its owner can put code into it\n"):
        build(UNIT)
    (filled / "opwright").chmod(0o755)
    filled.chmod(0o777)
    with pytest.raises(ToolchainError, match="anybody can put another folder in its place"):
        build(UNIT)
    filled.chmod(0o755)
    (filled / "opwright").rename(filled / "moved")
    (filled / "opwright").write_text("")
    with pytest.raises(ToolchainError, match="/opwright is not a folder\n"):
        build(UNIT)


def test_without_a_cache_of_ones_own_it_is_enough(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(filled))
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", "/proc/none")
    assert build(UNIT).cached
    assert look_up(UNIT) is not None
    assert look_up(Unit("not_there", "int not_there;\n")) is None
    with pytest.raises(ToolchainError, match=r"^not_there isn't in the read-only cache .*; can't write to the build"):
        build(Unit("not_there", "int not_there;\n"))
