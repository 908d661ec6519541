"""Compilers that crash, lie, babble, come late or go away."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Built

Compiled = Callable[..., Built]
Compiler = Callable[..., Path]
OUTPUT = 'for word; do if [ "$last" = -o ]; then output="$word"; fi; last="$word"; done\n'
MODEST = 6000


@pytest.fixture
def failing(compiler: Compiler, compiled: Compiled, answering: Callable[..., Path], root: Path) -> Callable[[str], str]:
    """The text of the error when CXX is a script; and that nothing is left, and that a good compiler then works."""

    def run(body: str) -> str:
        compiler(OUTPUT + body)
        source = answering("41")
        with pytest.raises(CompileError) as caught:
            compiled(source)
        assert list(root.rglob(".*")) == []
        assert list(root.rglob("*.so")) == []
        assert len(str(caught.value)) < MODEST
        compiler('exec "$gxx" "$@"')
        assert not compiled(source).cached
        return str(caught.value)

    return run


@pytest.mark.parametrize(
    ("signal", "number", "fix"),
    [("KILL", 9, "probably for want of memory; set MAX_JOBS=1"), ("SEGV", 11, "the compiler itself crashed"),
     ("ABRT", 6, "the compiler itself crashed"), ("BUS", 7, "the compiler itself crashed")],
)  # fmt: skip
def test_one_that_crashes(signal: str, number: int, fix: str, failing: Callable[[str], str], tmp_path: Path) -> None:
    text = failing(f"kill -{signal} $$")
    assert text.startswith(
        f"{tmp_path / 'op.cpp'}: error: g++ failed (signal {number}): it said nothing\n  likely fix: "
    )
    assert fix in text


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("exit 0", "wrote no library"),
        (': >"$output"', "wrote an empty file"),
        ('echo "not a library" >"$output"', "wrote 14 bytes that are no shared library"),
        ('"$gxx" "$@"; head -c 3000 "$output" >"$output.x"; mv "$output.x" "$output"', "ends too early"),
        ('"$gxx" "$@"; head -c 30 "$output" >"$output.x"; mv "$output.x" "$output"', "ends too early"),
        ('"$gxx" "$@" -c', "wrote an object that is no shared library"),
        ('("$gxx" "$@" -o "$output.late"; sleep 1; mv "$output.late" "$output") & exit 0', "wrote no library"),
    ],
    ids=["nothing", "empty", "garbage", "cut", "cut short", "object", "late"],
)  # fmt: skip
def test_one_that_says_it_succeeded(body: str, what: str, failing: Callable[[str], str], tmp_path: Path) -> None:
    text = failing(body)
    assert re.match(rf"{tmp_path / 'op.cpp'}: error: g\+\+ reported success, but .*{what}\n  likely fix: ", text), text
    log = Path(re.findall(r"^full log: (.*)$", text, re.MULTILINE)[0])
    assert "\ncommand: " in log.read_text()


def test_one_that_goes_on_writing_is_stopped(
    compiler: Compiler, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int],
    strays: Callable[[], list[str]], wait_for: Callable[..., None],
) -> None:  # fmt: skip
    compiler(f'{OUTPUT}"$gxx" "$@" || exit 1\nexec 3>>"$output"\n(sleep 0.3; echo more >&3; sleep 60) &\nexit 0')
    source = answering("41")
    built = compiled(source)
    wait_for(lambda: strays() == [])  # killed, which on a busy machine takes a moment
    assert answer(built) == 41
    assert compiled(source).cached


def test_one_that_hides_what_it_read(
    compiler: Compiler, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    """A wrapper that drops ``-MD -MT unit -MF file``: then each build compiles, and is right."""
    compiler(
        'for word; do shift; case "$last $word" in *-M[DTF]|-M[TF]*) ;; *) set -- "$@" "$word" ;; esac; last="$word"\n'
        'done; exec "$gxx" "$@"'
    )
    source = answering("41")
    assert answer(compiled(source)) == 41
    built = compiled(answering("42"))
    assert not built.cached
    assert answer(built) == 42


def test_one_that_prints_no_text(failing: Callable[[str], str], tmp_path: Path) -> None:
    text = failing(
        r"printf '\377\376\0\033[31m\303( \355\240\200 \r\n\013x\n'; printf '/u/\377.cpp:1:2: error: \300\n'; exit 1"
    )
    assert "/u/\ufffd.cpp:1:2: error: \ufffd" in text
    text.encode()  # whole characters only


@pytest.mark.parametrize(
    "line",
    ["x", "a.cpp:1:2: error: ", "a:1: required from a:1: ", "undefined reference to ", "/usr/bin/ld: ", "note: ", "("],
)
def test_one_that_prints_ten_megabytes_in_one_line(line: str, failing: Callable[[str], str], tmp_path: Path) -> None:
    text = failing(f"yes '{line}' | tr -d '\\n' | head -c 10000000; exit 1")
    log = Path(re.findall(r"^full log: (.*)$", text, re.MULTILINE)[0])
    assert log.name == "build.log"


def test_one_that_prints_ten_megabytes_of_errors(failing: Callable[[str], str]) -> None:
    text = failing("yes 'a.cpp:1:2: error: no' | head -c 10000000; exit 1")
    assert text.startswith("a.cpp:1:2: error: no\n(")


def test_one_that_goes_away_after_it_was_found(
    compiler: Compiler, compiled: Compiled, answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from opwright.toolchain.build import compilation

    path = compiler('exec "$gxx" "$@"')
    before = compilation.Compilation.run

    def run(self: compilation.Compilation) -> object:
        path.unlink(missing_ok=True)
        return before(self)

    monkeypatch.setattr(compilation.Compilation, "run", run)
    with pytest.raises(
        ToolchainError, match=rf"can't start {re.escape(str(path))}: No such file or directory\n  likely fix: try again"
    ):
        compiled(answering("41"))
    with pytest.raises(ToolchainError, match=r"there is no program .*\n  likely fix: correct CXX"):
        compiled(answering("41"))


def test_one_that_goes_away_while_it_is_looked_at(
    compiler: Compiler, compiled: Compiled, answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from opwright.toolchain.compilers import compiler as module

    path = compiler('exec "$gxx" "$@"')
    before = module.which

    def which(name: str, skip: frozenset[str] = frozenset()) -> str | None:
        found = before(name, skip)
        path.unlink()
        return found

    monkeypatch.setattr(module, "which", which)
    with pytest.raises(
        ToolchainError, match=rf"{re.escape(str(path))} can't be read: No such file or directory\n  likely fix: "
    ):
        compiled(answering("41"))


def test_one_whose_version_changes(
    compiled: Compiled, answering: Callable[..., Path], tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch,
    root: Path,
) -> None:  # fmt: skip
    source, path = answering("41"), tmp_path / "c++"
    monkeypatch.setenv("CXX", str(path))

    def install(version: str) -> None:
        path.write_text(
            f'#!/bin/sh\ncase " $* " in\n'
            f'*" -v "*) "{gxx}" "$@" 2>&1 | sed "s/^gcc version [0-9.]*/gcc version {version}/" >&2;;\n'
            f'*) exec "{gxx}" "$@";; esac\n'
        )
        path.chmod(0o755)

    lines: list[str] = []
    for version in ("12.2.0", "12.10.0", "12.2.0"):
        install(version)
        compiled(source, on_progress=lines.append)
    assert lines[:2] == ["compiling op (c++ 12.2.0)", "compiling op (c++ 12.10.0)"]
    assert len(list(root.glob("units/op-*"))) >= 2
    install("9.1.0")
    with pytest.raises(ToolchainError, match=r"is gcc 9\.1\.0, expected gcc 11 or newer\n  likely fix: install"):
        compiled(source)
