"""What the preprocessor makes of a unit, and what is linked; neither is done twice, neither is stale."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.errors import CompileError
from opwright.toolchain import Options, Unit, build, linked
from opwright.toolchain.build.builder import preprocessed


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CC becomes one that notes what it is asked to preprocess."""
    compiler, notes = shutil.which("cc"), tmp_path / "notes"
    script = tmp_path / "noting-cc"
    script.write_text(f'#!/bin/sh\ncase "$*" in *text.i*) echo . >>"{notes}" ;; esac\nexec "{compiler}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    notes.touch()
    return notes


def unit(text: str) -> Unit:
    return Unit("some", text, language="c")


def test_headers_macros_and_lines(project: Path) -> None:
    (project / "own.h").write_text("#define TWICE(x) x x\n\nTWICE(int own;)\n")
    text = preprocessed(unit('#include "own.h"\n'), Options(include_dirs=(project,)))
    assert "int own; int own;" in text
    assert f'"{project / "own.h"}"' in text
    defined = preprocessed(unit('#include "own.h"\n'), Options(include_dirs=(project,)), macros=True)
    assert "#define TWICE(x) x x\n" in defined


def test_once_until_a_header_changes(project: Path, calls: Path) -> None:
    header, options = project / "own.h", Options(include_dirs=(project,))
    header.write_text("int one;\n")
    os.utime(header, (1, 1))  # what is younger than its build isn't trusted
    for _ in range(2):
        assert "int one;" in preprocessed(unit('#include "own.h"\n'), options)
    assert calls.read_text().split() == ["."]
    header.write_text("int two;\n")
    assert "int two;" in preprocessed(unit('#include "own.h"\n'), options)
    assert calls.read_text().split() == [".", "."]


def test_what_it_refuses(project: Path) -> None:
    with pytest.raises(CompileError) as caught:
        preprocessed(unit("#include <no_such.h>\n"), Options(include_dirs=(project,)))
    assert str(caught.value).startswith(
        "the header no_such.h isn't there: it is in none of the folders that the compiler searches, "
        f"{project} among them\n"
        "  likely fix: install the library's development package, or name its folder: extra_include_paths=[...]\n"
    )
    with pytest.raises(CompileError, match="error: #error not here"):
        preprocessed(unit("#error not here\n"), Options())


def library(folder: Path, value: int, name: str) -> None:
    folder.mkdir(exist_ok=True)
    source = folder / "a.c"
    source.write_text(f"int answer_of_it(void) {{ return {value}; }}\n")
    compiler = shutil.which("cc")
    assert compiler
    words = [compiler, "-shared", "-fPIC", str(source), "-o", str(folder / f"lib{name}.so")]
    subprocess.run(words, check=True)


def ask(options: Options) -> int:
    text = "extern int answer_of_it(void);\n"
    text += '__attribute__((visibility("default"))) int ask(void) { return answer_of_it(); }\n'
    return int(ctypes.CDLL(str(build(unit(text), options).path)).ask())


def test_a_library_in_a_folder_with_an_odd_name(project: Path) -> None:
    folder = project / "a, b c"
    library(folder, 7, "answer")
    assert ask(linked(Options(), ["answer"], [folder])) == 7


def test_the_first_folder_counts_and_a_changed_library_is_another_key(project: Path) -> None:
    first, second = project / "first", project / "second"
    library(second, 2, "one_of_two")
    first.mkdir()
    before = linked(Options(identity="mine"), ["one_of_two"], [first, second])
    library(first, 1, "one_of_two")
    after = linked(Options(identity="mine"), ["one_of_two"], [first, second])
    assert before.identity != after.identity
    assert after.identity.startswith("mine|")
    assert ask(after) == 1
    assert linked(Options(), [], []) == Options()
