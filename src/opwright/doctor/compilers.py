"""Checks which compilers are installed and whether they compile."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import NamedTuple

from opwright.doctor.findings import Finding, from_error, ok, wrong
from opwright.doctor.subprocesses import Answer, ask, in_background
from opwright.errors import ToolchainError
from opwright.languages import Language
from opwright.toolchain.compilers.compiler import Compiler, find_compiler

_SECONDS = 8.0


class _Trial(NamedTuple):
    """The trial of a language: its name, the variable and package of its compiler, and a small source."""

    name: str
    variable: str
    package: str
    file: str
    source: str


_TRIALS: dict[Language, _Trial] = {
    "c": _Trial(
        "C", "CC", "gcc libc6-dev", "empty.c",
        "#include <stdint.h>\n#include <math.h>\ndouble f(double x) { return sqrt(x); }\n",
    ),
    "c++": _Trial(
        "C++", "CXX", "g++", "empty.cpp",
        "#include <cstdint>\n#include <string>\nstd::string f(std::string x) { return x + x; }\n",
    ),
}  # fmt: skip


def examine_compilers() -> Iterator[Finding]:
    """Check whether C and C++ can be compiled and linked, and whether Python's header is installed."""
    compilers = {language: in_background(partial(find_compiler, language, seconds=_SECONDS)) for language in _TRIALS}
    for language, compiler in compilers.items():
        yield from _examine(_TRIALS[language], compiler)


def _examine(trial: _Trial, future: Future[Compiler]) -> Iterator[Finding]:
    topic = f"{trial.name} compiler"
    try:
        compiler = future.result()
    except ToolchainError as error:
        yield from_error(topic, error)
        return
    launcher = f", started by {' '.join(compiler.launcher)}" if compiler.launcher else ""
    yield ok(topic, f"{compiler} at {compiler.path} ({compiler.kind} for {compiler.target}){launcher}")
    try:
        with tempfile.TemporaryDirectory(prefix="opwright-doctor-", ignore_cleanup_errors=True) as folder:
            yield from _compile(compiler, trial, folder)
    except OSError as error:
        text = f"compilers can't write to {tempfile.gettempdir()}: {error.strerror or error}"
        yield wrong("temporary files", text, "free some space there, or set TMPDIR to a folder of your own")


def _compile(compiler: Compiler, trial: _Trial, folder: str) -> Iterator[Finding]:
    source = os.path.join(folder, trial.file)
    Path(source).write_text(trial.source, encoding="utf-8")
    words = ["-fPIC", "-shared", source, "-o", os.path.join(folder, "empty.so")]
    linked = in_background(lambda: ask([*compiler.link_command, *words], seconds=_SECONDS, folder=folder))
    header = in_background(lambda: _include_python(compiler, folder)) if trial.name == "C++" else None
    topic, answer = f"{trial.name} compiles and links", linked.result()
    if answer.status == 0:
        yield ok(topic, "a small shared library")
    else:
        yield wrong(
            topic,
            f"{compiler.path} failed at a small shared library: {answer.why}",
            f"reinstall it (apt install --reinstall {trial.package}, or your system's way), or set {trial.variable} to "
            f"another than {os.path.basename(compiler.path)}",
        )
    if compiler.launcher:
        yield _launch(compiler, trial, source, folder)
    if header:
        yield _python_header(header.result(), compiler_works=answer.status == 0)


def _launch(compiler: Compiler, trial: _Trial, source: str, folder: str) -> Finding:
    command = [*compiler.command, "-c", source, "-o", os.path.join(folder, "launched.o")]
    answer = ask(command, seconds=_SECONDS, folder=folder)
    topic, launcher = f"{trial.name} launcher", " ".join(compiler.launcher)
    if answer.status == 0:
        return ok(topic, launcher)
    fix = "mend it, or unset OPWRIGHT_LAUNCHER and CMAKE_C_COMPILER_LAUNCHER, CMAKE_CXX_COMPILER_LAUNCHER"
    return wrong(topic, f"{launcher} failed to start {compiler.path}: {answer.why}", fix)


def _include_python(compiler: Compiler, folder: str) -> Answer:
    source = os.path.join(folder, "python.cpp")
    Path(source).write_text("#include <Python.h>\n", encoding="utf-8")
    folders = dict.fromkeys(sysconfig.get_path(name) for name in ("include", "platinclude"))
    words = ["-fsyntax-only", *(f"-I{path}" for path in folders), source]
    return ask([*compiler.link_command, *words], seconds=_SECONDS, folder=folder)


def _python_header(answer: Answer, *, compiler_works: bool) -> Finding:
    topic, folder = "Python.h", sysconfig.get_path("include")
    if answer.status == 0:
        return ok(topic, f"in {folder}")
    if compiler_works and not os.path.exists(os.path.join(folder, topic)):
        return wrong(
            topic,
            f"it is missing in {folder}: extensions that include torch/extension.h or pybind11 can't be compiled "
            "(kernels with OPWRIGHT(...) need no Python)",
            f"apt install python{sysconfig.get_python_version()}-dev (Debian, Ubuntu), dnf install python3-devel "
            "(Fedora, RHEL), or a Python that brings its headers",
        )
    return wrong(topic, f"a file that includes it can't be compiled: {answer.why}", "mend the C++ compiler first")
