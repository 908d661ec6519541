"""What a library needs, against what readelf says of it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import opwright
from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import build_id, gpu_code, library_requirements, needed_libraries

SOURCE = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
extern int from_elsewhere(int);
extern int perhaps(int) __attribute__((weak));
static int (*kept)(int);
void *g(double x, int n) { kept = perhaps; return memcpy(malloc(n), &x, from_elsewhere((int)exp(x))); }
"""


def built(folder: Path, *words: str) -> Path:
    source, library = folder / "g.c", folder / "libg.so"
    source.write_text(SOURCE)
    subprocess.run([find_compiler("c").path, "-shared", "-fPIC", source, "-o", library, "-lm", *words], check=True)
    return library


def read(path: Path, *words: str) -> str:
    program = shutil.which("readelf")
    if program is None:
        pytest.skip("there is no readelf")
    return subprocess.run([program, "-W", *words, path], capture_output=True, text=True, check=True).stdout


def test_what_readelf_says(tmp_path: Path) -> None:
    library = built(tmp_path, "-Wl,-rpath,/somewhere:$ORIGIN")
    found = library_requirements(library.read_bytes(), "libg.so")
    dynamic, versions, symbols = read(library, "-d"), read(library, "-V"), read(library, "--dyn-syms")
    assert list(found.libraries) == re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed_libraries(str(library)) == found.libraries
    assert list(found.paths) == re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic) == ["/somewhere:$ORIGIN"]
    listed = versions[versions.index(".gnu.version_r") :]
    assert {name for each in found.versions.values() for name in each} == set(re.findall(r"Name: (\S+)", listed))
    assert set(found.versions) == set(re.findall(r"File: (\S+)", listed))
    undefined = re.findall(r"GLOBAL DEFAULT  UND (\w+)", symbols)
    assert found.undefined == set(undefined)
    assert {"from_elsewhere", "exp"} <= found.undefined
    assert "perhaps" not in found.undefined
    assert found.flaws == ()
    assert found.gpus == ()
    assert find_compiler("c").target.startswith(found.machine)


def test_an_executable_stack(tmp_path: Path) -> None:
    library = built(tmp_path, "-Wl,-z,execstack")
    assert library_requirements(library.read_bytes(), "libg.so").flaws == ("it asks for an executable stack",)


@pytest.mark.parametrize("data", [b"", b"MZ", b"\x7fELF\x02\x01" + bytes(20), b"\x7fELF\x02\x01" + b"\xff" * 100])
def test_what_is_no_library(data: bytes) -> None:
    with pytest.raises(opwright.ToolchainError, match=r"^odd.so is no shared library that can be read \("):
        library_requirements(data, "odd.so")


def cubin(architecture: int, version: int) -> bytes:
    flags = architecture << 8 if version >= 8 else architecture
    header = b"\x7fELF\x02\x01\x01\x33" + bytes([version]) + bytes(7) + struct.pack("<HHI", 2, 190, 1)
    return header + struct.pack("<QQQIHHHHHH", 0, 0, 64, flags, 64, 0, 0, 64, 2, 0) + bytes(128)


def test_cubins_and_ptx_by_themselves() -> None:
    text = b"//\n.version 9.0\n.target sm_120\n"
    inside = cubin(90, 8)[:-128] + b".target sm_90\n".ljust(128, b"\0")  # what a debugger reads of it
    data = b"\x7fELF\x02\x01" + bytes(100) + cubin(75, 7) + bytes(3) + inside + text
    assert [*gpu_code(data)] == ["sm_75", "sm_90", "compute_120"]


@pytest.mark.parametrize("option", ["sha1", "md5", "0x0123456789abcdef", "none"])
def test_the_build_id(tmp_path: Path, option: str) -> None:
    library = built(tmp_path, f"-Wl,--build-id={option}")
    found = re.search(r"Build ID: (\w+)", read(library, "-n"))
    assert build_id(library) == (found[1] if found else "")
    assert bool(found) == (option != "none")


def test_the_build_id_of_what_is_no_library(tmp_path: Path) -> None:
    for data in (b"", b"\x7fELF", b"\x7fELF\2\1" + bytes(90), built(tmp_path).read_bytes()[:200]):
        (tmp_path / "file").write_bytes(data)
        assert build_id(tmp_path / "file") == ""


def test_what_a_file_needs_that_is_no_library(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for data in (b"", b"\x7fELF", b"\x7fELF\2\1" + bytes(90), built(tmp_path).read_bytes()[:-100]):
        file.write_bytes(data)
        assert needed_libraries(str(file)) == ()
    with pytest.raises(FileNotFoundError):
        needed_libraries(str(tmp_path / "missing"))
