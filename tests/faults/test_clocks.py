"""Clocks that are set, that differ from the file server's, and dates that are coarse."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain import Built
from opwright.toolchain.cache import eviction, store

Compiled = Callable[..., Built]
DAY = 24 * 3600.0
build_module = importlib.import_module("opwright.toolchain.build.builder")


@pytest.fixture
def shift(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the clock on the wall differ by so many seconds; that which only measures goes on."""
    wall, wall_ns = time.time, time.time_ns

    def by(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: wall() + seconds)
        monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + int(seconds * 1e9))

    return by


@pytest.mark.parametrize("seconds", [-50 * 365 * DAY, -DAY, DAY, 20 * 365 * DAY])
def test_a_clock_that_is_wrong(
    seconds: float, shift: Callable[[float], None], compiled: Compiled, answering: Callable[..., Path],
    answer: Callable[[Built], int],
) -> None:  # fmt: skip
    """All files are of the future, or of long ago."""
    shift(seconds)
    source = answering(41)
    assert answer(compiled(source)) == 41
    assert compiled(source).cached
    built = compiled(answering(42))
    assert not built.cached
    assert answer(built) == 42


@pytest.mark.parametrize("age", [None, -10 * 365 * DAY, -DAY, DAY])
def test_files_of_any_date(
    age: float | None, compiled: Compiled, answering: Callable[..., Path], tmp_path: Path, counting: Callable[[], int]
) -> None:
    header, date = tmp_path / "value.h", 0 if age is None else time.time() - age
    source = answering("VALUE", before='#include "value.h"')
    for value in (1, 2, 3):
        header.write_text(f"#define VALUE {value}\n")
        for path in (header, source):
            os.utime(path, (date, date))
        assert not compiled(source).cached
        assert compiled(source).cached
    assert counting() == 3  # none twice: nothing changed meanwhile


EDIT = """"$gxx" "$@"; status=$?
if [ -e "{header}.new" ]; then mv "{header}.new" "{header}"; touch -d "{date}" "{header}"; fi
exit $status"""


@pytest.fixture
def edited(
    compiler: Callable[[str], Path], compiled: Compiled, answering: Callable[..., Path], tmp_path: Path,
    answer: Callable[[Built], int],
) -> Callable[[str], int]:  # fmt: skip
    """What a library answers whose header became 2 just after the compiler had read 1, with that date."""
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 1\n")
    os.utime(header, (0, 0))
    header.with_name("value.h.new").write_text("#define VALUE 2\n")
    source = answering("VALUE", before='#include "value.h"')

    def run(date: str) -> int:
        compiler(EDIT.format(header=header, date=date))
        return answer(compiled(source))

    return run


def test_an_edit_while_it_is_compiled_on_a_disk_that_keeps_seconds(edited: Callable[[str], int]) -> None:
    assert edited("@$(date +%s)") == 2


def test_an_edit_whose_date_was_rounded_down(edited: Callable[[str], int]) -> None:
    assert edited("@$(( $(date +%s) / 2 * 2 ))") == 2  # even seconds, as FAT keeps them


def test_an_edit_after_the_clock_was_set_back(
    edited: Callable[[str], int], shift: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hour_ago = time.time() - 3600
    before = build_module._run_unless_removed

    def run(compilation: object) -> object:
        found = before(compilation)
        shift(-3600)
        return found

    monkeypatch.setattr(build_module, "_run_unless_removed", run)
    assert edited(f"@{hour_ago + 0.2:.3f}") == 2


def test_headers_that_were_just_written_are_compiled_twice_at_most(
    compiled: Compiled, answering: Callable[..., Path], tmp_path: Path, counting: Callable[[], int]
) -> None:
    """On a disk that keeps seconds, what was saved just now may have been saved while it was compiled."""
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 1\n")
    second = int(time.time())
    os.utime(header, (second, second))
    source = answering("VALUE", before='#include "value.h"')
    assert not compiled(source).cached
    assert compiled(source).cached
    assert counting() <= 2


@pytest.mark.parametrize("ahead", [0.0, -10 * 365 * DAY, 10 * 365 * DAY])
def test_what_was_used_is_known_whatever_the_clock_says(
    ahead: float, compiled: Compiled, answering: Callable[..., Path], root: Path, shift: Callable[[float], None]
) -> None:
    """Dates of before the clock was set are taken for old, and mended by the next use."""
    source = answering(41)
    path = compiled(source).path
    for each in (path, *path.parent.iterdir()):
        os.utime(each, (time.time() + ahead - 2 * DAY,) * 2)
    assert compiled(source).cached
    assert abs(path.stat().st_mtime - time.time()) < 600
    assert eviction.entries(root)[-1].path == path.parent or ahead > 0
    store.Cache(root).prune(path.parent)
    assert path.exists()
