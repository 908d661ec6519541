"""Compilers: which ones there are, and whether they compile."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from opwright.doctor.asking import Answer, Later, ask
from opwright.doctor.model import Finding, from_error, ok, wrong
from opwright.errors import ToolchainError
from opwright.toolchain.compiler import Compiler, Language, find_compiler

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 8.0
_LABEL = {"c": "C", "c++": "C++"}
_VARIABLE = {"c": "CC", "c++": "CXX"}
_SUFFIX = {"c": "c", "c++": "cpp"}
_HELLO = {
    "c": "#include <stdint.h>\n#include <math.h>\ndouble f(double x) { return sqrt(x); }\n",
    "c++": "#include <cstdint>\n#include <string>\nstd::string f(std::string x) { return x + x; }\n",
}
_PYTHON = "#include <Python.h>\n"


def examine() -> Iterator[Finding]:
    """Can C and C++ be compiled and linked, and is Python's header there?"""
    found = {language: Later(_finder(language)) for language in _LABEL}
    for language, compiler in found.items():
        yield from _examine(language, compiler)


def _finder(language: str) -> Callable[[], Compiler]:
    asked: Language = "c++" if language == "c++" else "c"
    return lambda: find_compiler(asked, seconds=_SECONDS)


def _examine(language: str, found: Later[Compiler]) -> Iterator[Finding]:
    topic = f"{_LABEL[language]} compiler"
    try:
        compiler = found.get()
    except ToolchainError as error:
        yield from_error(topic, error)
        return
    launcher = f", started by {' '.join(compiler.launcher)}" if compiler.launcher else ""
    yield ok(topic, f"{compiler} at {compiler.path} ({compiler.kind} for {compiler.target}){launcher}")
    try:
        with tempfile.TemporaryDirectory(prefix="opwright-doctor-", ignore_cleanup_errors=True) as folder:
            yield from _compile(compiler, language, folder)
    except OSError as error:
        yield wrong(
            "temporary files",
            f"compilers can't write to {tempfile.gettempdir()}: {error.strerror or error}",
            "free some space there, or set TMPDIR to a folder of your own",
        )


def _compile(compiler: Compiler, language: str, folder: str) -> Iterator[Finding]:
    source = os.path.join(folder, f"empty.{_SUFFIX[language]}")
    _write(source, _HELLO[language])
    words = ["-fPIC", "-shared", source, "-o", os.path.join(folder, "empty.so")]
    linked = Later(lambda: ask([*compiler.link_command, *words], seconds=_SECONDS, folder=folder))
    header = Later(lambda: _find_python(compiler, folder)) if language == "c++" else None
    topic, answer = f"{_LABEL[language]} compiles and links", linked.get()
    if answer.status == 0:
        yield ok(topic, "a small shared library")
    else:
        yield wrong(topic, f"{compiler.path} failed at a small shared library: {answer.why}", _mend(compiler, language))
    if compiler.launcher:
        yield _launched(compiler, language, source, folder)
    if header:
        yield _python_header(header.get(), is_usable=answer.status == 0)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _mend(compiler: Compiler, language: str) -> str:
    package = "g++" if language == "c++" else "gcc libc6-dev"
    return (
        f"reinstall it (apt install --reinstall {package}, or your system's way), or set {_VARIABLE[language]} to "
        f"another than {os.path.basename(compiler.path)}"
    )


def _launched(compiler: Compiler, language: str, source: str, folder: str) -> Finding:
    words = ["-c", source, "-o", os.path.join(folder, "launched.o")]
    answer = ask([*compiler.command, *words], seconds=_SECONDS, folder=folder)
    topic = f"{_LABEL[language]} launcher"
    if answer.status == 0:
        return ok(topic, " ".join(compiler.launcher))
    return wrong(
        topic,
        f"{' '.join(compiler.launcher)} failed to start {compiler.path}: {answer.why}",
        "mend it, or unset OPWRIGHT_LAUNCHER and CMAKE_C_COMPILER_LAUNCHER, CMAKE_CXX_COMPILER_LAUNCHER",
    )


def _find_python(compiler: Compiler, folder: str) -> Answer:
    source = os.path.join(folder, "python.cpp")
    _write(source, _PYTHON)
    words = ["-fsyntax-only", *(f"-I{path}" for path in _include_dirs()), source]
    return ask([*compiler.link_command, *words], seconds=_SECONDS, folder=folder)


def _include_dirs() -> list[str]:
    return list(dict.fromkeys(sysconfig.get_path(name) for name in ("include", "platinclude")))


def _python_header(answer: Answer, *, is_usable: bool) -> Finding:
    topic, folder = "Python.h", sysconfig.get_path("include")
    if answer.status == 0:
        return ok(topic, f"in {folder}")
    version = sysconfig.get_python_version()
    if is_usable and not os.path.exists(os.path.join(folder, "Python.h")):
        return wrong(
            topic,
            f"it is missing in {folder}: extensions that include torch/extension.h or pybind11 can't be compiled "
            "(kernels with OPWRIGHT(...) need no Python)",
            f"apt install python{version}-dev (Debian, Ubuntu), dnf install python3-devel (Fedora, RHEL), or a Python "
            "that brings its headers",
        )
    return wrong(topic, f"a file that includes it can't be compiled: {answer.why}", "mend the C++ compiler first")
