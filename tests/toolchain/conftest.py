"""A private cache, a project folder, and compilers that count how often they are called."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.toolchain import Built, Options, Unit, build, include_line

_VARIABLES = (
    *("CC", "CXX", "MAX_JOBS", "OPWRIGHT_LAUNCHER", "OPWRIGHT_COMPILE_TIMEOUT", "OPWRIGHT_COMPILE_COMMANDS"),
    *("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root of this test, and an environment that asks for nothing special."""
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    return tmp_path / "extensions" / "opwright"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def gxx() -> str:
    path = shutil.which("g++")
    if path is None:
        pytest.skip("g++ is not installed")
    return path


@pytest.fixture(params=["g++", "clang++"])
def any_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """CXX set to gcc, then to clang where one is installed (under any of its versioned names)."""
    names = [request.param, *(f"{request.param}-{version}" for version in range(30, 14, -1))]
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setenv("CXX", path)
    return path


@pytest.fixture
def counting(tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """CXX becomes a g++ that notes each compilation; the result says how many there were so far."""
    notes = tmp_path / "compilations"
    script(tmp_path / "counting-g++", f'case " $* " in *" -v "*) ;; *) echo . >>"{notes}" ;; esac\nexec "{gxx}" "$@"')
    monkeypatch.setenv("CXX", str(tmp_path / "counting-g++"))
    return lambda: len(notes.read_text().split()) if notes.exists() else 0


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def make_script() -> Callable[[Path, str], Path]:
    return script


def source_unit(source: Path, language: str = "c++", name: str | None = None) -> Unit:
    return Unit(name or source.stem, include_line(source) + "\n", source, "c" if language == "c" else "c++")


@pytest.fixture
def compile_source() -> Callable[..., Built]:
    """Build the file at a path: ``compile_source(path, **options)``."""

    def run(source: Path, language: str = "c++", **options: object) -> Built:
        return build(source_unit(source, language), Options(**options))  # type: ignore[arg-type]

    return run


EXPORT = 'extern "C" __attribute__((visibility("default"))) '


@pytest.fixture
def answer() -> Callable[[Built], int]:
    """What the exported ``int answer()`` of a library returns."""

    def call(built: Built) -> int:
        return int(ctypes.CDLL(str(built.path)).answer())

    return call


@pytest.fixture
def answering(project: Path) -> Callable[..., Path]:
    """Write ``op.cpp`` with an ``answer()`` that returns an expression."""

    def write(expression: str, before: str = "", path: Path | None = None) -> Path:
        path = path or project / "op.cpp"
        path.write_text(f"{before}\n{EXPORT}int answer() {{ return {expression}; }}\n")
        return path

    return write


_BUILD_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a script starts with &
from pathlib import Path
from opwright.toolchain import Unit, build, include_line
source = Path(sys.argv[1])
print("ready", flush=True)
built = build(Unit(source.stem, include_line(source) + "\\n", source))
print(built.cached, built.path, flush=True)
"""


@pytest.fixture
def start_build() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Build a file in another process, which is killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(source: Path) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_BUILD_SCRIPT), str(source)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
