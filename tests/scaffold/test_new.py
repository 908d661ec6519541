"""What `opwright new` writes is sound, for every kind and every name that it takes; it never touches what is there."""

from __future__ import annotations

import ast
import errno
import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opwright import scaffold
from opwright.cli import cli
from opwright.errors import OpwrightError
from opwright.packaging.config import from_pyproject, read_toml
from opwright.packaging.project_files import sources
from opwright.scaffold import KINDS, kinds, new, origin
from opwright.scaffold.names import Name, parse_name
from opwright.sources.scan import scan

LONGEST = "abcdefghijklmnopqrstuvwxyzabcdef"
EVERY = pytest.mark.parametrize("kind", KINDS)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["new", *words])


def ruff(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "ruff", *words, "--no-cache", "--quiet", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("name", ["a1", "my-own-op", LONGEST])
def test_files_are_sound(name: str, kind: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    paths = new(folder, kind)
    assert sorted(paths) == sorted(path for path in folder.rglob("*") if path.is_file())
    for path in paths:
        text = path.read_text()
        if path.name == "compile_commands.json":
            continue
        assert not re.search(r"my_op|my-op|MyOp|@[A-Z_]+@", f"{path.relative_to(folder)} {text}"), path
        if path.suffix == ".py":
            ast.parse(text)
        assert text.endswith("\n") or not text
        assert not text.endswith("\n\n")
    assert ruff(folder, "check") == ""
    assert ruff(folder, "format", "--diff") == ""


@EVERY
def test_the_library_is_described(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "my-own-op"
    new(folder, kind)
    text = (folder / "pyproject.toml").read_text()
    assert '\nname = "my-own-op"\n' in text
    described = read_toml(folder)["project"]
    assert described["dynamic"] == ["version"]
    assert described["license-files"] == ["LICENSE"]
    assert {"Homepage", "Changelog", "Issues"} <= described["urls"].keys()
    assert all(described["authors"][0].values())
    language = "C" if kind == "c" else "C++"
    assert f"Programming Language :: {language}" in described["classifiers"]
    found = from_pyproject(folder)
    listed = sorted(path for path in (folder / "csrc").iterdir())
    if kind == "aten":
        assert not found
        assert '"my_own_op._C", ["csrc/my_own_op.cpp"]' in (folder / "setup.py").read_text()
        return
    (library,) = found
    assert (library.name, library.rebuild) == ("my_own_op.ops", True)
    assert sorted(sources(library, folder)) == listed
    for path in listed:
        kernels = [kernel.signature.name for kernel in scan(path, path.read_text()).kernels]
        assert kernels == ["my_own_op", "my_own_op_backward"][: 1 if kind == "pointwise" else 2]


def test_no_template_that_python_would_compile_is_none() -> None:
    for path in kinds.TEMPLATES.rglob("*.py"):
        ast.parse(path.read_text(), str(path))


@EVERY
def test_what_goes_to_users_is_said_and_published(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "my-own-op"
    new(folder, kind)
    said = (folder / "README.md").read_text().partition("## What your users need\n\n")[2]
    assert said.startswith("`pip install my-own-op`, on Linux, with Python 3.10 or newer.")
    assert ("compiler" in said) == (kind != "aten")
    publish = (folder / ".github/workflows/publish.yml").read_text()
    for needed in ("id-token: write", "ubuntu-24.04-arm", "cibuildwheel", "pypa/gh-action-pypi-publish"):
        assert needed in publish
    # Opwright comes from one place.
    for file in (".github/workflows/publish.yml", ".github/workflows/ci.yml", "tools/setup.sh"):
        assert "-r tools/opwright.txt" in (folder / file).read_text()
    lines = (folder / "tools/opwright.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [origin.requirement()]
    assert str(datetime.now(timezone.utc).year) in (folder / "LICENSE").read_text()


@EVERY
def test_editors_know_how_each_source_is_compiled(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "my-own-op"
    found = json.loads(new(folder, kind)[-1].read_text())
    assert [entry["file"] for entry in found] == sorted(str(path) for path in (folder / "csrc").iterdir())
    for entry in found:
        assert entry["directory"] == str(folder / "csrc")
        assert entry["arguments"][-1] == entry["file"]
        include = Path(next(word for word in entry["arguments"] if word.endswith("opwright/include"))[2:])
        assert (include / "opwright.h").is_file()
        assert ("-DOPWRIGHT_EMULATION" in entry["arguments"]) == entry["file"].endswith(".cu")
    if kind in ("cuda", "legacy"):
        included = re.findall(r"-include, ([\w./]+)", (folder / ".clangd").read_text())
        assert included
        assert all((include / each).is_file() for each in included)


def test_without_a_compiler_it_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert json.loads(new(tmp_path / "my-own-op")[-1].read_text()) == []


def test_the_kernel_is_what_one_gets_without_saying(tmp_path: Path) -> None:
    assert run(str(tmp_path / "a" / "a1")).exit_code == 0
    new(tmp_path / "b" / "a1", "kernel")
    source, other = (tmp_path / each / "a1" / "csrc" / "a1.cpp" for each in "ab")
    assert source.read_text() == other.read_text()


def test_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("my-own-op", "--c").output == (
        "my-own-op: 18 files; the operator is in csrc/my_own_op.c\n"
        "  cd my-own-op\n  make         compile it\n  make test    test it\n  make bench   time it\n"
    )


def test_a_project_is_of_one_kind(tmp_path: Path) -> None:
    done = run(str(tmp_path / "a1"), "--c", "--cuda")
    assert done.exit_code == 2
    assert "a project is of one kind, and got --c and --cuda" in done.output
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "a1"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    done = run(str(folder))
    assert str(done.exception) == (
        f"{folder} is there already, and has notes.txt in it; nothing was changed\n"
        "  likely fix: another name, or remove the folder"
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["a1", "notes.txt"]
    assert (folder / "notes.txt").read_text() == "mine"
    file = tmp_path / "b1"
    file.write_text("mine")
    assert str(run(str(file)).exception) == f"{file} is there already, and is no folder\n  likely fix: another name"
    assert file.read_text() == "mine"


def test_an_empty_repository_of_gits_is_filled(tmp_path: Path) -> None:
    (tmp_path / "a1" / ".git").mkdir(parents=True)
    assert run(str(tmp_path / "a1")).exit_code == 0
    assert (tmp_path / "a1" / "csrc" / "a1.cpp").is_file()


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        if path.name == "Makefile":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, text)

    write = scaffold._write
    monkeypatch.setattr(scaffold, "_write", full)
    with pytest.raises(OpwrightError, match=r"can't write .*Makefile: No space left on device\n  likely fix: name a"):
        new(tmp_path / "a1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my-op", Name("my-op", "my_op", "MyOp")),
        ("lltm2", Name("lltm2", "lltm2", "Lltm2")),
        ("a_b-c3", Name("a_b-c3", "a_b_c3", "ABC3")),
    ],
)
def test_names(text: str, name: Name) -> None:
    assert parse_name(text, KINDS["kernel"]) == name


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        ("MyOp", "expected lower-case letters, digits, and single '-' or '_' between them, a letter first", "my-op"),
        ("my.op", "expected lower-case letters", "my-op"),
        ("my--op", "expected lower-case letters", "my-op"),
        ("2lltm", "expected lower-case letters", "lltm"),
        ("-", "expected lower-case letters", "my-op"),
        ("grün", "expected lower-case letters", "gr-n"),
        (f"{LONGEST}g", "it has 33 characters, expected at most 32", LONGEST),
        ("foo_backward", "a name that ends in _backward is that of an operator's gradient", "foo"),
        ("foo-emulated", "a name that ends in _emulated is that of an operator's emulated form", "foo"),
        ("lambda", "lambda is a word of Python's", "lambda-op"),
        ("template", "template is a word of C++", "template-op"),
        ("co_await", "co_await is a word of C++", "co_await_op"),
        ("json", "json is a module of Python's", "json-op"),
        ("test", "test is a module of Python's", "test-op"),
        ("tests", "tests is a folder of the project's", "tests-op"),
        ("pytest", "pytest is a package that the project itself needs", "pytest-op"),
        ("aten", "aten is a namespace of PyTorch's", "aten-op"),
        ("half", "half is something in opwright.h", "half-op"),
        ("scale", "scale is a name that the project's code has for something else", "scale-op"),
    ],
)
def test_names_that_are_refused(text: str, why: str, fix: str, tmp_path: Path) -> None:
    done = run(str(tmp_path / text))
    assert isinstance(done.exception, OpwrightError)
    assert str(done.exception).startswith(f"a project can't be called {text!r}: {why}")
    assert str(done.exception).endswith(f"\n  likely fix: opwright new {fix}")
    assert not list(tmp_path.iterdir())
    parse_name(fix, KINDS["kernel"])  # what is proposed is taken


@pytest.mark.exhaustive
def test_no_namespace_of_pytorch_is_free() -> None:
    code = (
        "import torch\n"
        "names = {name.partition('::')[0] for name in torch._C._dispatch_get_all_op_names()}\n"
        "print(*names, *dir(torch.ops), *dir(torch._ops._OpNamespace('x')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for space in found:
        if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", space):
            with pytest.raises(OpwrightError, match="can't be called"):
                parse_name(space, KINDS["kernel"])
