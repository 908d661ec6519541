"""The names in what a compiler wrote."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import symbols

SOURCE = """
extern int wanted(int); extern int variable;
int given(int x) { return wanted(x) + variable; }
int data = 1;
static int own(void) { return 1; }
__attribute__((visibility("hidden"))) int hidden(void) { return own(); }
__attribute__((weak)) int weak(void) { return hidden(); }
"""


@pytest.mark.parametrize("words", [["-c"], ["-shared"]], ids=["object", "library"])
def test_names(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "made"
    command = [find_compiler("c").path, "-fPIC", *words, "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    found = symbols(path)
    assert {"given", "data", "weak"} <= found.defined
    assert not {"own", "hidden", "wanted", "variable"} & found.defined
    assert {"wanted", "variable"} <= found.undefined
    assert not {"given", "data"} & found.undefined


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"!<arch>\n", bytes(1000)])
def test_what_is_no_object(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(content)
    with pytest.raises(ToolchainError, match=r"made is no object file or shared library whose names can be read"):
        symbols(path)


def test_damaged_objects(tmp_path: Path) -> None:
    path = tmp_path / "made"
    subprocess.run(
        [find_compiler("c").path, "-c", "-x", "c", "-", "-o", str(path)], input=SOURCE, text=True, check=True
    )
    whole = path.read_bytes()
    for end in range(0, len(whole), 37):
        path.write_bytes(whole[:end])
        with contextlib.suppress(ToolchainError):  # and nothing else
            symbols(path)
