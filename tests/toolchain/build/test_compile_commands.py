"""compile_commands.json: what clangd reads."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain import Built, header_dir
from opwright.toolchain.build.compile_commands import Entry, write

Compile = Callable[..., Built]


def test_each_build_leaves_one_that_works(compile_source: Compile, answering: Callable[..., Path]) -> None:
    source = answering("VALUE")
    built = compile_source(source, define=("VALUE=3",))
    (entry,) = json.loads((built.path.parent / "compile_commands.json").read_text())
    assert entry["file"] == str(source)
    assert entry["directory"] == str(source.parent)
    assert f"-I{header_dir()}" in entry["arguments"]
    assert "-DVALUE=3" in entry["arguments"]
    assert entry["arguments"][-1] == str(source)
    done = subprocess.run(entry["arguments"], cwd=entry["directory"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_of_the_users_gets_all_of_them(
    compile_source: Compile, answering: Callable[..., Path], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPWRIGHT_COMPILE_COMMANDS", str(project))
    for name in ("a.cpp", "b.cpp", "a.cpp"):
        compile_source(answering("1", path=project / name), define=("LAST",) if name == "a.cpp" else ())
    entries = json.loads((project / "compile_commands.json").read_text())
    assert sorted(Path(entry["file"]).name for entry in entries) == ["a.cpp", "b.cpp"]


def test_other_entries_stay_and_own_ones_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    theirs = {"directory": "/other", "file": "main.cc", "command": "cc -c main.cc"}
    same = {"directory": "/x", "file": "../x/op.cpp", "command": "old"}
    path.write_text(json.dumps([theirs, same]))
    assert write(tmp_path, [Entry("/x", "/x/op.cpp", ("c++", "-DA"))]) == path
    write(tmp_path, [Entry("/x", "/x/op.cpp", ("c++", "-DB"))])
    assert json.loads(path.read_text()) == [
        theirs,
        {"directory": "/x", "file": "/x/op.cpp", "arguments": ["c++", "-DB"]},
    ]


@pytest.mark.parametrize("damage", ["", "{", "{}", "[1, null]"])
def test_a_damaged_file_is_replaced(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(damage)
    write(tmp_path, [Entry("/x", "/x/op.cpp", ("c++",))])
    assert json.loads(path.read_text())[-1]["file"] == "/x/op.cpp"


def test_a_missing_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compile_source: Compile, answering: Callable[..., Path]
) -> None:
    monkeypatch.setenv("OPWRIGHT_COMPILE_COMMANDS", str(tmp_path / "missing"))
    with pytest.raises(ToolchainError, match=r"can't write .*missing/compile_commands.json: No such file"):
        compile_source(answering("1"))
