"""Interactive sessions that begin before the native runtime is built."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opwright.runtime.native import background
from opwright.runtime.register import kernels
from opwright.toolchain import find_compiler

ROOT = Path(__file__).parents[2]
SESSION = """
import torch, opwright
ops = opwright.load_inline("beside", cpp='OPWRIGHT("f(x: T) -> (y: T)") template <class T> T f(T x) { return 2*x; }')
print(ops.f(torch.ones(2)).tolist(), opwright.runtime.name())
"""


def session(code: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type `code` at the prompt of a new Python, with a cache of its own."""
    ours = {"OPWRIGHT_RUNTIME", "PYTEST_CURRENT_TEST"}
    known = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [sys.executable, "-i", "-q"],
        input=code,
        env=known | {"PYTHONPATH": str(ROOT / "src"), "TORCH_EXTENSIONS_DIR": str(cache)} | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def test_who_is_interactive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", "In: ", raising=False)
    assert not background.is_interactive()  # a test
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.delattr(sys, "ps1")
    monkeypatch.delitem(sys.modules, "IPython", raising=False)  # other tests have a shell of it
    assert not background.is_interactive()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert background.is_interactive()
    monkeypatch.delattr(sys, "ps1")

    class Notebook:
        @staticmethod
        def get_ipython() -> object:
            return object()

    monkeypatch.setitem(sys.modules, "IPython", Notebook)
    assert background.is_interactive()


@pytest.mark.parametrize(("problem", "said"), [("", "beside this session"), ("no memory", "isn't built: no memory")])
def test_what_is_said(
    problem: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPWRIGHT_RUNTIME", raising=False)
    monkeypatch.setattr(background, "is_interactive", lambda: True)
    monkeypatch.setattr(background, "must_be_built", lambda: True)
    monkeypatch.setattr(background, "start_builder", lambda: problem)
    assert kernels.selected().name == "python"
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.endswith("at each call" if problem else "; the next one starts with it")


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "free_memory", lambda: 1 << 30)
    monkeypatch.setattr(os, "posix_spawn", None)  # nothing is started
    assert background.start_builder() == "1.0 GiB of memory are free, and a compiler needs 2"


def test_without_a_compiler_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert not background.must_be_built()


@pytest.mark.native
def test_where_there_is_one_nothing_is_begun() -> None:
    assert not background.must_be_built()


def test_a_session_does_not_wait(tmp_path: Path) -> None:
    """The compiler takes long for the runtime; it outlives the session, whose streams it doesn't hold."""
    compiler, started = tmp_path / "g++", tmp_path / "started"
    compiler.write_text(
        f"#!/bin/sh\ncase $* in *opwright-runtime*) touch {started}; exec sleep 5;; esac\n"
        f'exec {find_compiler("c++").path} "$@"\n'
    )
    compiler.chmod(0o755)
    done = session(SESSION, tmp_path / "cache", CXX=str(compiler))
    assert done.stdout == "[2.0, 2.0] python\n"
    assert done.stderr.count("building the native runtime beside this session; ") == 1
    ends = time.monotonic() + 60
    while not started.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert started.exists()


@pytest.mark.exhaustive
def test_the_next_session_is_native(tmp_path: Path) -> None:
    first = session(SESSION, tmp_path)
    assert first.stdout == "[2.0, 2.0] python\n"
    ends = time.monotonic() + 240
    while not [*tmp_path.glob("opwright/runtimes/*/*/runtime.json")] and time.monotonic() < ends:
        time.sleep(0.2)
    second = session(SESSION, tmp_path)
    assert second.stdout == "[2.0, 2.0] native\n"
    assert "opwright: " not in second.stderr
