"""Depfiles, records of what was read, and the names that could hide a header."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.toolchain.cache.manifest import (
    Reader,
    Record,
    add_to_depfile,
    capture,
    content,
    present_names,
    read_depfile,
    stamp,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unit: /a.cpp\n", ["/a.cpp"]),
        ("unit: /a.cpp \\\n /b.h \\\n  /c.h\n", ["/a.cpp", "/b.h", "/c.h"]),
        ("unit: \\\n /a.cpp /b.h\n", ["/a.cpp", "/b.h"]),
        (
            "unit: /with\\ space.h /$$x.h /ha\\#sh.h /back\\slash.h\n",
            ["/with space.h", "/$x.h", "/ha#sh.h", "/back\\slash.h"],
        ),
        ("unit: relative.h ../up.h\n", ["/base/relative.h", "/base/../up.h"]),
        ("unit:\n", []),
        ("", []),
    ],
)
def test_depfiles(text: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.d").write_text(text)
    assert read_depfile(tmp_path / "x.d", "/base") == expected


def test_files_are_added_to_a_depfile(tmp_path: Path) -> None:
    names = ["/with space.h", "/$x.h", "/ha#sh.h", "/back\\slash.h", "/co:lon.h", "/\u00e9.h"]
    (tmp_path / "x.d").write_text("unit: /a.cpp \\\n /b.h\n")
    add_to_depfile(tmp_path / "x.d", names)
    assert read_depfile(tmp_path / "x.d", "/base") == ["/a.cpp", "/b.h", *names]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("own/op.cpp", "own/op.h", "inc/lib/x.h", "sys/cmath", "sys/bits/c.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "library.so").write_bytes(b"1234")
    return tmp_path


def record_of(tree: Path, skipped: tuple[str, ...] = ()) -> Record:
    read = [str(tree / name) for name in ("own/op.cpp", "own/../own/op.h", "inc/lib/x.h", "sys/cmath", "sys/bits/c.h")]
    inputs = capture(read, [str(tree / "first"), str(tree / "inc")], skipped, [str(tree / "sys")], Reader())
    assert inputs.complete
    return inputs.record("library.so", 4, content(tree / "library.so", 4))


def test_files_are_sorted_by_how_they_are_watched(tree: Path) -> None:
    record = record_of(tree)
    assert set(record.files) == {str(tree / name) for name in ("own/op.cpp", "own/op.h", "inc/lib/x.h")}
    assert record.system == [str(tree / "sys/cmath"), str(tree / "sys/bits/c.h")]
    assert set(record.watched) == {str(tree / name) for name in ("first", "inc", "own", "inc/lib")}
    assert record_of(tree, (str(tree / "inc"),)).files.keys() == {str(tree / "own/op.cpp"), str(tree / "own/op.h")}
    assert Record.from_json(record.to_json()) == record


def test_damage_of_the_same_size_is_seen(tree: Path) -> None:
    record = record_of(tree)
    (tree / "library.so").write_bytes(b"1235")
    assert not record.holds(tree, Reader())


@pytest.mark.parametrize("size", [1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_a_hash_of_large_files_sees_what_happens_to_files(size: int, tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    whole = os.urandom(size)

    def of(data: bytes) -> str:
        path.write_bytes(data)
        return content(path, size)

    before = of(whole)
    assert of(whole) == before != ""
    damaged = [bytes(size), bytes(1) + whole[1:], whole[:-1] + bytes([whole[-1] ^ 1]), whole[: size // 2], whole + b"x"]
    damaged.append(whole[: size // 2] + bytes(size - size // 2))  # half of it never reached the disk
    assert all(of(data) != before or data == whole for data in damaged[:3] + damaged[5:])
    if size <= 1 << 20:
        assert of(whole + b"x") != before
    path.unlink()
    assert content(path, size) == ""


@pytest.mark.slow
@pytest.mark.parametrize("value", [None, 3, [], {}, ["x", 3], {"a": 3}, {"a": [3]}])
@pytest.mark.parametrize("name", Record._fields)
def test_what_is_no_record_is_none(tree: Path, name: str, value: object) -> None:
    record = record_of(tree)
    if {"size": 3, "system": [], "names": [], "files": {}, "watched": {}}.get(name) == value:
        return
    with pytest.raises((TypeError, ValueError)):
        Record.from_json({**record.to_json(), name: value})
    with pytest.raises(ValueError, match="name of a file"):
        Record.from_json({**record.to_json(), "library": "../library.so"})


def test_nothing_changed(tree: Path) -> None:
    assert record_of(tree).holds(tree, Reader())


@pytest.mark.parametrize("name", ["own/op.cpp", "own/op.h", "inc/lib/x.h", "sys/cmath", "sys/bits/c.h", "library.so"])
@pytest.mark.parametrize("how", ["change", "remove"])
def test_every_file_counts(tree: Path, name: str, how: str) -> None:
    record = record_of(tree)
    if how == "remove":
        (tree / name).unlink()
    else:
        (tree / name).write_text("something else")
    assert not record.holds(tree, Reader())


@pytest.mark.parametrize("name", ["first/lib/x.h", "own/cmath", "inc/bits/c.h", "own/lib/x.h", "inc/op.h"])
def test_a_new_file_of_the_same_name_counts(tree: Path, name: str) -> None:
    record = record_of(tree)
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("")
    assert not record.holds(tree, Reader())


@pytest.mark.parametrize("name", ["own/other.h", "inc/other/y.h", "own/op.cpp.swp", "first/readme"])
def test_a_new_file_of_another_name_does_not(tree: Path, name: str) -> None:
    record = record_of(tree)
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("")
    assert record.holds(tree, Reader())


def test_a_record_with_a_file_that_was_not_there_is_incomplete(tree: Path) -> None:
    assert not capture([str(tree / "own/gone.h")], [], [], [], Reader()).complete
    assert not capture([str(tree / "sys/gone.h")], [], [], [str(tree / "sys")], Reader()).complete
    assert capture([], [], [], [], Reader()).complete


def test_system_dates_count_in_seconds(tree: Path) -> None:
    path = str(tree / "sys/cmath")
    os.utime(path, ns=(0, 5_000_000_000))
    before = stamp([path])
    os.utime(path, ns=(0, 5_900_000_000))
    assert stamp([path]) == before
    os.utime(path, ns=(0, 6_000_000_000))
    assert stamp([path]) != before


def test_a_link_into_a_system_folder_is_followed(tree: Path) -> None:
    (tree / "link").symlink_to(tree / "sys")
    inputs = capture([str(tree / "link/cmath")], [], [], [str(tree / "sys")], Reader())
    assert inputs.system == [str(tree / "link/cmath")]


def test_digests_differ_by_key_and_content(tree: Path) -> None:
    read = [str(tree / "own/op.h")]
    one = capture(read, [], [], [], Reader())
    assert one.digest("key") == capture(read, [], [], [], Reader()).digest("key") != one.digest("other")
    (tree / "own/op.h").write_text("edited")
    assert capture(read, [], [], [], Reader()).digest("key") != one.digest("key")


def test_present_names(tree: Path) -> None:
    assert present_names(str(tree), {"own", "op.h", "x.h"}) == ["own", "own/op.h"]
    assert present_names(str(tree / "nowhere"), {"own"}) == []


def test_a_reader_reads_once(tree: Path) -> None:
    reader = Reader()
    path = str(tree / "own/op.h")
    first = reader.digest(path)
    (tree / "own/op.h").write_text("edited")
    assert reader.digest(path) == first
    assert reader.digest(str(tree / "gone")) == ""
