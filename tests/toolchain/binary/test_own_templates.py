"""Object files whose instances of templates are theirs alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import symbols
from opwright.toolchain.binary.own_templates import own_templates

TEXT = """
template <class T> struct Made { Made(); __attribute__((noinline)) int of() const { return WHOSE; } };
template <class T> __attribute__((noinline)) Made<T>::Made() { asm volatile(""); }
inline int count() { static int times = 10 * WHOSE; return ++times; }
namespace opwright { inline int shared() { static int times = 0; return ++times; } }
int NAME() { return 1000 * opwright::shared() + 100 * Made<int>().of() + count(); }
"""
MAIN = "int first(); int second(); int main() { return first() + second() == EXPECTED ? 0 : 1; }"


def _object(folder: Path, name: str, whose: int) -> Path:
    path = folder / f"{name}.o"
    command = [find_compiler("c++").path, "-O1", f"-DNAME={name}", f"-DWHOSE={whose}", "-c", "-x", "c++", "-"]
    subprocess.run([*command, "-o", str(path)], input=TEXT, text=True, check=True)
    return path


def _ends_with(folder: Path, expected: int, *objects: Path) -> bool:
    program = folder / "program"
    command = [find_compiler("c++").path, *map(str, objects), f"-DEXPECTED={expected}", "-x", "c++", "-"]
    subprocess.run([*command, "-o", str(program)], input=MAIN, text=True, check=True)
    return subprocess.run([program], check=False).returncode == 0


def test_each_file_runs_its_own(tmp_path: Path) -> None:
    first, second = _object(tmp_path, "first", 1), _object(tmp_path, "second", 2)
    assert _ends_with(tmp_path, 3000 + 100 + 11 + 100 + 12, first, second)  # the linker's choice: the first file's
    own_templates(second)
    assert _ends_with(tmp_path, 3000 + 100 + 11 + 200 + 21, first, second)
    assert _ends_with(tmp_path, 3000 + 100 + 11 + 200 + 21, second, first)


def test_other_names_stay(tmp_path: Path) -> None:
    path = _object(tmp_path, "first", 1)
    before = symbols(path)
    own_templates(path)
    after = symbols(path)
    assert "_Z5firstv" in after.defined
    assert {name for name in before.defined if "8opwright" in name} <= after.defined
    assert after.undefined == before.undefined
    assert {name.removeprefix("opwright.") for name in after.defined} == before.defined
    assert "opwright._ZZ5countvE5times" in after.defined


@pytest.mark.parametrize("content", [b"", b"!<arch>\n"])
def test_what_is_no_object_stays(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(content)
    own_templates(path)
    assert path.read_bytes() == content
