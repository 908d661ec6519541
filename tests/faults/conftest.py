"""Faults that are really provoked: processes that are killed, compilers that misbehave, files that are damaged."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import opwright
from opwright.toolchain import Built, Unit, build, include_line
from opwright.toolchain.cache.scratch import MARK

_VARIABLES = (
    *("CC", "CXX", "MAX_JOBS", "OPWRIGHT_LAUNCHER", "OPWRIGHT_COMPILE_TIMEOUT", "OPWRIGHT_COMPILE_COMMANDS"),
    *("OPWRIGHT_CACHE_SIZE", "XDG_CACHE_HOME"),
)
EXPORT = 'extern "C" __attribute__((visibility("default"))) '

# What a child does: build a file, load the library, say what its answer() returns.
CHILD = """
import ctypes, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a script starts with &
from pathlib import Path
from opwright.errors import ToolchainError
from opwright.toolchain import Unit, build, include_line
source = Path(sys.argv[1])
print("ready", flush=True)
try:
    built = build(Unit(source.stem, include_line(source) + "\\n", source))
except ToolchainError as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(built.cached, ctypes.CDLL(str(built.path)).answer(), ascii(str(built.path)), flush=True)
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's root in this test, not made yet."""
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    monkeypatch.setenv("PYTHONPATH", str(Path(opwright.__file__).parents[1]))
    return tmp_path / "extensions" / "opwright"


@pytest.fixture(scope="session")
def gxx() -> str:
    path = shutil.which("g++")
    if path is None:
        pytest.skip("g++ is not installed")
    return path


@pytest.fixture
def answering(tmp_path: Path) -> Callable[..., Path]:
    """Write a source with an ``answer()`` that returns an expression: ``answering("41", "op.cpp")``."""

    def write(expression: object, name: str = "op.cpp", before: str = "") -> Path:
        path = tmp_path / name
        path.write_text(f"{before}\n{EXPORT}int answer() {{ return {expression}; }}\n")
        return path

    return write


@pytest.fixture
def compiled() -> Callable[..., Built]:
    """Build a source, in this process."""

    def run(source: Path, **words: object) -> Built:
        return build(Unit(source.stem, include_line(source) + "\n", source), **words)  # type: ignore[arg-type]

    return run


@pytest.fixture
def answer() -> Callable[[Built], int]:
    return lambda built: int(ctypes.CDLL(str(built.path)).answer())


@pytest.fixture
def compiler(tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """CXX becomes a shell script, which answers ``-v`` as g++ does and runs ``body`` for all else; $gxx is g++."""

    def write(body: str, name: str = "g++") -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\ngxx="{gxx}"\ncase " $* " in *" -v "*) exec "$gxx" "$@" ;; esac\n{body}\n')
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return path

    return write


@pytest.fixture
def counting(compiler: Callable[[str], Path], tmp_path: Path) -> Callable[[], int]:
    """CXX counts its calls, in a way that holds with many at once; the result says how many there were."""
    notes = tmp_path / "compilations"
    compiler(f'echo . >>"{notes}"\nexec "$gxx" "$@"')
    return lambda: len(notes.read_text().split()) if notes.exists() else 0


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Build and load a file in another process: ``start(source, env={...})``."""
    started: list[subprocess.Popen[str]] = []

    def run(source: str | Path, env: dict[str, str] | None = None, **words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(  # type: ignore[call-overload]
            [sys.executable, "-c", CHILD, str(source)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}, **words,
        )  # fmt: skip
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def wait_for() -> Callable[[Callable[[], object]], None]:
    def wait(condition: Callable[[], object]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.005)

    return wait


@pytest.fixture
def strays(root: Path) -> Callable[[], list[str]]:
    """The processes that builds in this test's cache have started and that still run."""
    mark = os.fsencode(f"{MARK}={root}")

    def find() -> list[str]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes():
                    found.append(folder.name)
        return found

    return find


@pytest.fixture
def leftovers(root: Path) -> Callable[[], list[str]]:
    """What is in the cache that no finished build leaves there."""
    return lambda: sorted(str(path.relative_to(root)) for path in root.rglob(".*"))


@pytest.fixture
def shim(tmp_path: Path, gxx: str) -> Callable[[str], dict[str, str]]:
    """The environment in which C functions are replaced by ``text``: ``shim("int flock(int, int) {...}")``."""

    def make(text: str) -> dict[str, str]:
        source, library = tmp_path / "shim.c", tmp_path / "shim.so"
        source.write_text(f"#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <stdio.h>\n{text}\n")
        subprocess.run([gxx, "-x", "c", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return {"LD_PRELOAD": str(library)}

    return make


@pytest.fixture
def nobody() -> Iterator[tuple[Path, int | None]]:
    """A folder of an unprivileged user, and that user's number; None where we aren't root, and so can be no other."""
    folder = Path(tempfile.mkdtemp(prefix="opwright-faults-"))
    user = 65534 if os.geteuid() == 0 else None
    if user:
        os.chown(folder, user, user)
    yield folder, user
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def ended() -> Callable[[subprocess.Popen[str]], tuple[int, str, str]]:
    """Wait for a child: its exit status, output and errors."""

    def wait(process: subprocess.Popen[str]) -> tuple[int, str, str]:
        output, errors = process.communicate(timeout=240)
        assert -process.returncode not in {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT}
        return process.returncode, output, errors

    return wait
