"""The logger ``opwright``: silent unless asked, on stderr once, with commands and reasons."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import log
from opwright.errors import ToolchainError
from opwright.toolchain import Unit, build, cache_root, include_line
from opwright.toolchain.build.plan import make_plan
from opwright.toolchain.cache.lock import locked
from opwright.toolchain.cache.manifest import Reader
from opwright.toolchain.cache.store import Cache
from opwright.toolchain.compilers.flags import Options

BUILD = """
from opwright.toolchain import Unit, build
for _ in range(2):
    build(Unit("quiet", "extern \\"C\\" int quiet() { return 1; }"))
"""


def run(code: str, cache: Path, asked: str | None = None) -> str:
    """What the code writes to stderr."""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(cache), **({log.VARIABLE: asked} if asked else {})}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stderr


def test_nothing_is_shown_unless_asked(tmp_path: Path) -> None:
    assert run(BUILD, tmp_path) == ""


def test_debug_has_commands_reasons_and_hits(tmp_path: Path) -> None:
    lines = run(BUILD, tmp_path, "debug").splitlines()
    line = re.compile(r"opwright\[\d+\] \d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO): quiet: |opwright\[\d+\] .* INFO: compil")
    assert all(map(line.match, lines)), lines
    said = [text.partition(": ")[2] for text in lines]
    assert said[0] == "quiet: nothing is in the cache for this text, these options and this compiler"
    assert re.fullmatch(r"compiling quiet \(.*\d+\.\d+.*\)", said[1])
    command = said[2].removeprefix("quiet: running ").split()
    assert "-shared" in command
    assert re.fullmatch(rf"quiet: {re.escape(command[0])} ended with status 0 after \d+\.\d\d s", said[3])
    compiled = re.fullmatch(r"compiled quiet in \d+\.\d\d s: (.*)", said[4])
    found = re.fullmatch(r"quiet: found in the cache in \d\.\d{4} s: (.*)", said[5])
    assert compiled
    assert found
    assert compiled[1] == found[1]
    assert Path(found[1]).is_file()
    assert len(said) == 6


def test_a_program_with_logging_of_its_own_has_each_line_once(tmp_path: Path) -> None:
    own = f"import logging; logging.basicConfig(format='mine: %(message)s')\n{BUILD}"
    lines = run(own, tmp_path, "INFO").splitlines()
    assert [line[:18] for line in lines] == ["mine: quiet: nothi", "mine: compiling qu", "mine: compiled qui"]


def test_a_wrong_level_is_said_once_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "OPWRIGHT_LOG='loud' names no level, expected debug, info, warning\n  likely fix: OPWRIGHT_LOG=debug"
    assert run(BUILD, tmp_path, "loud") == f"opwright: {text}\n"
    monkeypatch.setenv(log.VARIABLE, "loud")
    with pytest.raises(ToolchainError, match=re.escape(text)):
        log.level()


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
    """What has been logged, in a cache of this test's."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "cache"))
    caplog.set_level(logging.DEBUG, logger="opwright")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "opwright"]


def test_why_it_is_built_again(said: Callable[[], list[str]], tmp_path: Path) -> None:
    header, source = tmp_path / "part.h", tmp_path / "whole.cpp"
    source.write_text('#include "part.h"\n')
    unit = Unit("whole", include_line(source) + "\n", source)
    for value in (1, 2):
        header.write_text(f'extern "C" int whole() {{ return {value}; }}\n')
        built = build(unit)
    assert f"whole: changed since it was built: {header}" in said()
    built.path.write_bytes(b"")
    build(unit)
    assert f"whole: missing, damaged or open to others: {built.path}" in said()


def test_locks_that_are_waited_for(said: Callable[[], list[str]], tmp_path: Path) -> None:
    unit = Unit("waited", "int waited;")
    plan = make_plan(unit, Options(), Reader())
    cache = Cache(cache_root())
    folder = cache.folder(plan.name, plan.key)
    cache.make(folder)
    waits = threading.Event()
    with log.listening(lambda line: waits.set() if "waiting" in line else None):
        with locked(folder / "lock", 60, lambda: None):
            thread = threading.Thread(target=build, args=(unit,))
            thread.start()
            assert waits.wait(60)
        thread.join()
    assert "waited: waiting for another process that compiles it" in said()


@pytest.mark.slow
def test_what_is_loaded_and_nothing_of_calls(caplog: pytest.LogCaptureFixture, write: Callable[..., Path]) -> None:
    path = write('OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T> T f(T x) { return 2 * x; }', "logged.cpp")
    caplog.set_level(logging.DEBUG, logger="opwright")
    ops, x = opwright.load(path), torch.ones(2)
    ops.f(x)
    opwright.load(path)
    said = [record.getMessage() for record in caplog.records]
    assert any(re.fullmatch(rf"logged loaded in \d+\.\d+ s, from {re.escape(str(path))}", line) for line in said)
    assert any(line.startswith("logged loaded again in ") for line in said)
    assert any(re.fullmatch(r"f \[T=f32\] cpu: kernel in .*\.so", line) for line in said)
    caplog.clear()
    ops.f(x)
    assert not caplog.records


def test_a_notice_is_said_in_one_place(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    log.notice("first")
    assert capsys.readouterr().err == "opwright: first\n"
    heard: list[str] = []
    with log.listening(heard.append):
        log.notice("second")
    log.notice("third", logging.WARNING)
    caplog.set_level(logging.INFO, logger="opwright")
    log.notice("fourth")
    assert capsys.readouterr().err == ""
    assert heard == ["second"]
    assert caplog.messages == ["third", "fourth"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second is told at once."""
    monkeypatch.setattr(log, "_PATIENCE", 0.0)
    monkeypatch.setattr(log, "EVERY", 0.0)


@pytest.mark.slow
def test_a_long_wait_moves_on_a_terminal_and_leaves_nothing(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with log.moving("building it"):
        time.sleep(1.5)
    assert stderr.getvalue() == "\r\x1b[Kopwright: building it: 1 s\r\x1b[K"


@pytest.mark.slow
def test_a_long_wait_is_told_in_lines_elsewhere_and_to_listeners(
    impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(log, "_is_heard", lambda _importance: False)
    with log.moving("building it"):
        time.sleep(1.5)
    assert stderr.getvalue() == "opwright: building it: 1 s\n"
    lines: list[str] = []
    with log.listening(lines.append), log.moving("building it"):
        time.sleep(1.5)
    assert lines == ["building it: 1 s"]
    assert stderr.getvalue() == "opwright: building it: 1 s\n"


@pytest.mark.slow
def test_of_waits_inside_each_other_the_innermost_is_told(
    impatient: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(log, "_is_heard", lambda _importance: False)
    lines: list[str] = []
    with log.listening(lines.append), log.moving("building it"):
        with log.moving("building a part"):
            time.sleep(1.5)
        time.sleep(1.5)
    assert lines[0] == "building a part: 1 s"
    assert {line.partition(":")[0] for line in lines[1:]} == {"building it"}
    assert capsys.readouterr().err == ""


def test_a_short_wait_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with log.moving("building it"):
        pass
    assert stderr.getvalue() == ""
