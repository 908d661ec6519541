"""The cache is bounded: what was used least recently goes, nothing that is in use does."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import Built, cache_root
from opwright.toolchain.cache import eviction
from opwright.toolchain.cache.eviction import clean, entries, keep_small, size_limit
from opwright.toolchain.cache.store import GRACE, USE_NOTED_AFTER

Compile = Callable[..., Built]
HOUR, DAY = 3600.0, 24 * 3600.0


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPWRIGHT_CACHE_SIZE", raising=False)
    return cache_root()


def aged(path: Path, hours: float) -> Path:
    """``path``, with all that is in it, last used so many hours ago."""
    date = time.time() - hours * HOUR
    for each in (*path.rglob("*"), path):
        os.utime(each, (date, date), follow_symlinks=False)
    return path


def entry(root: Path, name: str, hours: float, size: int = 1000) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(bytes(size))
    return aged(folder, hours)


def due(root: Path) -> None:
    """As if it had been looked after long ago."""
    (root / "looked-after").touch()
    aged(root / "looked-after", 2)


def names(root: Path) -> list[str]:
    return [str(each.path.relative_to(root)) for each in entries(root)]


@pytest.mark.parametrize(
    ("asked", "limit"),
    [("", 5 << 30), (" ", 5 << 30), ("0", None), ("0G", None), ("1000", 1000), ("2G", 2 << 30), ("1.5k", 1536),
     ("3 MiB", 3 << 20), ("2gb", 2 << 30), ("1T", 1 << 40)],
)  # fmt: skip
def test_sizes(asked: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", asked)
    assert size_limit() == limit


def test_a_size_beyond_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", "9" * 400)
    limit = size_limit()
    assert limit is not None
    assert limit >= 1 << 59


@pytest.mark.parametrize("asked", ["-1", "much", "2 X", "G", "1e9", "nan", "2GG"])
def test_what_is_no_size(
    asked: str, monkeypatch: pytest.MonkeyPatch, compile_source: Compile, answering: Callable[..., Path]
) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", asked)
    with pytest.raises(ToolchainError) as caught:
        compile_source(answering("1"))
    assert str(caught.value) == (
        f"OPWRIGHT_CACHE_SIZE={asked!r}: expected a size in bytes, or with K, M, G or T\n"
        "  likely fix: OPWRIGHT_CACHE_SIZE=2G (0 for no limit)"
    )


def test_what_was_used_least_recently_goes(root: Path) -> None:
    for index, hours in enumerate([50, 10, 40, 20, 30]):
        entry(root, f"units/u{index}", hours)
    entry(root, "something-else/x", 60, size=100)
    keep_small(root, 3500)
    assert names(root) == ["units/u4", "units/u3", "units/u1"]
    keep_small(root, 100)
    assert len(names(root)) == 3  # it was looked after just now
    due(root)
    keep_small(root, None)
    assert len(names(root)) == 3
    due(root)
    keep_small(root, 3000)
    assert len(names(root)) == 3  # it fits
    due(root)
    keep_small(root, 1)
    assert names(root) == []


def test_what_may_just_have_been_handed_out_stays(root: Path) -> None:
    for index, hours in enumerate([3, GRACE / HOUR - 0.1, 1, 0, -1]):
        entry(root, f"units/u{index}", hours)
    keep_small(root, 1)
    assert sorted(names(root)) == [f"units/u{index}" for index in range(1, 5)]


def test_a_date_far_ahead_is_no_protection(root: Path) -> None:
    entry(root, "units/future", -1000)
    entry(root, "units/past", 10)
    keep_small(root, 1900)
    assert names(root) == ["units/past"]


def test_what_is_being_built_stays(root: Path) -> None:
    building = entry(root, "units/building", 50)
    entry(root, "units/other", 40)
    with open(building / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        aged(building, 50)
        keep_small(root, 1)
    assert names(root) == ["units/building"]


def test_use_is_noted(compile_source: Compile, answering: Callable[..., Path], root: Path) -> None:
    source = answering("1")
    path = compile_source(source).path
    for seconds, is_noted in ((USE_NOTED_AFTER / 2, False), (USE_NOTED_AFTER * 2, True), (-USE_NOTED_AFTER * 2, True)):
        date = time.time() - seconds
        os.utime(path, (date, date))
        assert compile_source(source).cached
        assert (abs(path.stat().st_mtime - date) > 1) == is_noted


def test_a_build_keeps_the_cache_small(
    compile_source: Compile, answering: Callable[..., Path], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, used = (compile_source(answering(str(value))).path for value in (1, 2))
    aged(old.parent, 50)
    aged(used.parent, 60)
    assert compile_source(answering("2")).cached  # so this is the younger one now
    limit = sum(each.size for each in entries(root)) + 10_000
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", str(limit))
    compile_source(answering("3"))
    assert old.exists()  # not due
    due(root)
    new = compile_source(answering("4")).path
    assert not old.parent.exists()
    assert used.exists()
    assert new.exists()
    assert not compile_source(answering("1")).cached


def test_what_the_killed_left_goes(root: Path) -> None:
    unit = entry(root, "units/u", 1)
    for name, hours in ((".work-1-a", 0), (".free-1-old", 30), (".free-1-new", 5)):
        entry(unit, name, hours)
    (root / "units/.removed-1-a/deep").mkdir(parents=True)
    for path, hours in ((unit / ".manifest.json.1.old", 3), (unit / ".manifest.json.2.new", 1), (root / "units/.x", 3)):
        path.touch()
        aged(path, hours)
    keep_small(root, None)
    assert sorted(path.name for path in root.rglob(".*")) == [".free-1-new", ".manifest.json.2.new"]


@pytest.mark.slow
def test_superseded_libraries_go(
    compile_source: Compile, answering: Callable[..., Path], project: Path, root: Path
) -> None:
    source = answering("VALUE", '#include "value.h"')
    paths = []
    for value in range(11):
        (project / "value.h").write_text(f"#define VALUE {value}\n")
        paths.append(compile_source(source).path)
        aged(paths[-1], 1 if value == 1 else 3)
    assert [path.exists() for path in paths] == [False, True, False, *[True] * 8]
    (project / "value.h").write_text("#define VALUE 1\n")
    assert not compile_source(source).cached


def test_cleaning(root: Path) -> None:
    for index, hours in enumerate([1, 30, 60]):
        entry(root, f"units/u{index}", hours)
    (root / "compilers").mkdir()
    (root / "compilers" / "x.json").write_text("{}")
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (root / "units" / "link").symlink_to(outside)
    gone, kept = clean(root, 2 * DAY)
    assert ([each.path.name for each in gone], kept) == (["u2"], [])
    clean(root)
    assert names(root) == []
    assert (outside / "file").exists()


def test_where_nothing_can_be_removed_nobody_complains(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry(root, "units/u", 50)

    def refuse(*_args: object, **_words: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    keep_small(root, 1)
    monkeypatch.setattr(Path, "touch", refuse)
    due_path = root / "looked-after"
    due_path.unlink()
    keep_small(root, 1)
    assert names(root) == ["units/u"]


def opwright(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    block = "import sys; sys.modules['torch'] = None; from opwright.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", block, *words], capture_output=True, text=True, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip


@pytest.mark.slow
def test_the_command(root: Path) -> None:
    for index, hours in enumerate([1, 30, 60]):
        entry(root, f"units/u{index}", hours, size=1 << 20)
    entry(root, "headers/h", 1, size=500)
    shown = opwright("cache", OPWRIGHT_CACHE_SIZE="2G")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == (
        f"path     {root}\nsize     3.0 MiB in 4 entries\n         headers: 1\n         units: 3\nlimit    2.0 GiB\n"
    )
    assert opwright("cache", OPWRIGHT_CACHE_SIZE="0").stdout.endswith("limit    none\n")
    assert opwright("cache", "path").stdout == f"{root}\n"
    lines = opwright("cache", "list").stdout.splitlines()
    assert sorted(lines[:2]) == ["  60 min     1.0 MiB  units/u0", "  60 min   500 bytes  headers/h"]
    assert lines[2:] == ["    30 h     1.0 MiB  units/u1", "  2 days     1.0 MiB  units/u2"]
    told = json.loads(opwright("cache", "list", "--json", OPWRIGHT_CACHE_SIZE="2G").stdout)
    assert (told["path"], told["limit"]) == (str(root), 2 << 30)
    last = told["entries"][-1]
    assert last == {
        "kind": "units", "name": "u2", "path": str(root / "units" / "u2"), "size": 1 << 20, "used": last["used"],
    }  # fmt: skip
    assert abs(time.time() - last["used"] - 60 * 3600) < 600
    assert opwright("cache", "clean", "--older-than", "2").stdout == "removed 1.0 MiB in 1 entry\n"
    with open(root / "units" / "u0" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert opwright("cache", "clean").stdout == "removed 1.0 MiB in 2 entries; 1.0 MiB in 1 entry in use\n"
    assert opwright("cache", "clean", "--older-than", "-1").returncode == 2
    wrong = opwright("cache", OPWRIGHT_CACHE_SIZE="x")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("opwright: error: OPWRIGHT_CACHE_SIZE='x': expected")


def test_the_stamp_is_private(root: Path) -> None:
    before = os.umask(0)
    try:
        keep_small(root, None)
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / eviction._STAMP).stat().st_mode) == 0o600
