"""Which compiler there is, and what it is.

A compiler is asked about itself once; the answer is kept in the cache beside its file's size and
date, so that a process with nothing to compile starts no other process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.cache import FORMAT, cache_root, write_atomically

Language = Literal["c", "c++", "cuda"]

_VARIABLE = {"c": "CC", "c++": "CXX"}
_LAUNCHER_VARIABLE = {"c": "CMAKE_C_COMPILER_LAUNCHER", "c++": "CMAKE_CXX_COMPILER_LAUNCHER"}
_CANDIDATES = {"c": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
_OLDEST = {"gcc": 11, "clang": 15}
_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache", "env"})
_PACKAGES = {
    "c": "apt install gcc (Debian, Ubuntu), dnf install gcc (Fedora, RHEL), xcode-select --install (macOS)",
    "c++": "apt install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora, RHEL), xcode-select --install (macOS)",
}
_PROBE_SECONDS = 60


class Compiler(NamedTuple):
    """A compiler that can be used.

    Attributes:
        path: its executable, as found (links not followed).
        kind: whose command line it understands.
        version: such as ``(12, 2, 0)``.
        target: the machine it compiles for, such as ``x86_64-linux-gnu``.
        identity: changes whenever the compiler does; part of every cache key.
        launcher: the words to put before it, such as ``("ccache",)``.
        arguments: the words that always follow it (from ``CXX="g++ -m64"``).
        system_dirs: its own header folders, links followed.
        host: of nvcc, the C++ compiler that it takes for the host's half.
    """

    path: str
    kind: Literal["gcc", "clang", "nvcc"]
    version: tuple[int, ...]
    target: str
    identity: str
    launcher: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    system_dirs: tuple[str, ...] = ()
    host: Compiler | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start it, launcher first."""
        return (*self.launcher, self.path, *self.arguments)

    @property
    def link_command(self) -> tuple[str, ...]:
        """The words that start it as a linker: launchers only know how to compile."""
        return (self.path, *self.arguments)

    def __str__(self) -> str:
        """Its name and version, such as ``g++ 12.2.0``."""
        return f"{os.path.basename(self.path)} {'.'.join(map(str, self.version))}"


class _Facts(NamedTuple):
    """What a compiler said of itself."""

    kind: str
    version: tuple[int, ...]
    target: str
    line: str
    system_dirs: tuple[str, ...]


def find_compiler(language: Language = "c++", *, seconds: float = _PROBE_SECONDS) -> Compiler:
    """The compiler for ``language``.

    ``CC``/``CXX`` decide where they are set (they may hold a launcher and flags: ``ccache g++ -m64``);
    else the first usable one of ``c++``, ``g++``, ``clang++`` on the ``PATH``. A launcher may also be named
    in ``OPWRIGHT_LAUNCHER`` or ``CMAKE_CXX_COMPILER_LAUNCHER``.

    Args:
        language: what it compiles.
        seconds: for which it may think about what it is.

    Raises:
        ToolchainError: there is none, it is too old (gcc before 11, clang before 15), or can't be run.

    CUDA's is `opwright.toolchain.nvcc.find_nvcc`'s.
    """
    if language == "cuda":
        from opwright.toolchain.nvcc import find_nvcc

        return find_nvcc()
    variable = _VARIABLE[language]
    words = _split(variable)
    if words:
        return compiler_from(language, words, f"{variable}={os.environ[variable]}", seconds)
    refused: list[str] = []
    for name in _CANDIDATES[language]:
        if path := which(name):
            try:
                return _describe(language, path, _asked_launcher(language), (), seconds)
            except ToolchainError as error:
                refused.append(str(error))
    if refused:
        raise ToolchainError("\n".join(dict.fromkeys(refused)))
    names = ", ".join(_CANDIDATES[language])
    label = "C++" if language == "c++" else "C"
    raise ToolchainError(
        f"no {label} compiler: none of {names} is on the PATH, and {variable} is not set\n"
        f"  likely fix: {_PACKAGES[language]}"
    )


def which(name: str, skip: frozenset[str] = frozenset()) -> str | None:
    """The executable called ``name`` (looked up on the ``PATH``, unless it is a path), or None."""
    if os.path.dirname(name):
        return os.path.abspath(name) if _executable(name) else None
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(os.path.abspath(folder), name)
        if _executable(path) and os.path.basename(os.path.realpath(path)) not in skip:
            return path
    return None


def _executable(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _split(variable: str) -> list[str]:
    text = os.environ.get(variable, "")
    if os.path.dirname(text) and _executable(text):
        return [text]  # a path with spaces in it, not quoted: there is such a file, so that is what is meant
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ToolchainError(
            f"{variable}={text!r} can't be split into words: {error}\n  likely fix: close the quote"
        ) from error


def _asked_launcher(language: Language) -> tuple[str, ...]:
    for variable in ("OPWRIGHT_LAUNCHER", _LAUNCHER_VARIABLE[language]):
        if words := _split(variable):
            path = which(words[0])
            if path is None:
                raise ToolchainError(
                    f"{variable} asks for {words[0]!r}, which is not on the PATH\n"
                    f"  likely fix: install it, or unset {variable}"
                )
            return (path, *words[1:])
    return ()


def compiler_from(language: Language, words: list[str], origin: str, seconds: float = _PROBE_SECONDS) -> Compiler:
    """The compiler that somebody asks for by ``[launcher [its flags]] compiler [flags]``, as ``CC`` and ``CXX`` do.

    Args:
        language: what it compiles.
        words: the launcher, if there is one, and the compiler, each with its flags.
        origin: who asks, for messages, as ``CXX=g++``.
        seconds: for which it may think about what it is.

    Raises:
        ToolchainError: there is no such program, or it is too old or no compiler.
    """
    index = 0
    if os.path.basename(words[0]) in _LAUNCHERS:
        index = next((i for i, word in enumerate(words) if i and not word.startswith("-") and "=" not in word), 0)
    path = which(words[index])
    launcher = which(words[0]) if index else ""
    if path is None or launcher is None:
        missing = words[index] if path is None else words[0]
        raise ToolchainError(
            f"{origin}: there is no program {missing!r}\n"
            f"  likely fix: correct {_VARIABLE[language]} or unset it; or {_PACKAGES[language]}"
        )
    before = (launcher, *words[1:index]) if launcher else _asked_launcher(language)
    return _describe(language, path, before, tuple(words[index + 1 :]), seconds)


def _describe(
    language: Language, path: str, launcher: tuple[str, ...], arguments: tuple[str, ...], seconds: float
) -> Compiler:
    """Ask the compiler at ``path`` what it is, or the cache where it has been asked before.

    Dates are taken in whole seconds: container images keep no more of them.
    """
    real = os.path.realpath(path)
    if os.path.basename(real) in _LAUNCHERS:  # /usr/lib/ccache/g++ is a link to ccache: the real one comes later
        real = os.path.realpath(which(os.path.basename(path), skip=_LAUNCHERS) or path)
    try:
        found = os.stat(real)
    except OSError as error:  # it was there a moment ago
        raise ToolchainError(
            f"{path} can't be read: {error.strerror or error}\n  likely fix: try again if it is just being updated; "
            f"else set {_VARIABLE[language]}"
        ) from error
    stamp = f"{real}|{found.st_size}|{int(found.st_mtime)}|{' '.join(arguments)}"
    facts = _facts(language, path, arguments, stamp, seconds)
    kind: Literal["gcc", "clang"] = "gcc" if facts.kind == "gcc" else "clang"
    if facts.version[0] < _OLDEST[kind]:
        raise ToolchainError(
            f"{path} is {kind} {'.'.join(map(str, facts.version))}, expected {kind} {_OLDEST[kind]} or newer\n"
            f"  likely fix: install a newer one and point {_VARIABLE[language]} at it"
        )
    identity = f"{stamp}|{facts.line}|{facts.target}"
    return Compiler(path, kind, facts.version, facts.target, identity, launcher, arguments, facts.system_dirs)


def _facts(language: Language, path: str, arguments: tuple[str, ...], stamp: str, seconds: float) -> _Facts:
    key = sha256(f"{FORMAT}|{language}|{path}|{stamp}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    try:
        file = cache_root() / "compilers" / f"{key}.json"
    except ToolchainError:  # whoever wants to build says so; the compiler is what it is
        return _probe(language, path, arguments, seconds)
    try:
        return _remembered(json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        facts = _probe(language, path, arguments, seconds)
    with contextlib.suppress(OSError):  # a cache that can't be written to costs time here; a build says so
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(file, json.dumps(facts._asdict()))
    return facts


def _remembered(known: Any) -> _Facts:
    """What `_facts` once wrote; TypeError, KeyError or ValueError where it is something else."""
    version = tuple(map(int, known["version"]))
    dirs = tuple(map(os.fspath, known["system_dirs"]))
    return _Facts(str(known["kind"]), version or (0,), str(known["target"]), str(known["line"]), dirs)


_VERSION = re.compile(r"^(?P<line>.*\b(?P<kind>gcc|clang) version (?P<number>\d+(?:\.\d+)*).*)$", re.MULTILINE)
_SEARCH = re.compile(r"^#include <\.\.\.>.*?$\n(?P<dirs>(?:^ .*$\n)*)", re.MULTILINE)


def _probe(language: Language, path: str, arguments: tuple[str, ...], seconds: float) -> _Facts:
    """Let the compiler say its version, target and header folders (one process, no file)."""
    from subprocess import TimeoutExpired

    command = [path, *arguments, "-v", "-E", "-x", language, os.devnull]
    hidden = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}  # folders of the user's, not of the compiler's
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"LC_ALL": "C"}
    try:
        status, text = _answer(command, environment, seconds)
    except TimeoutExpired as error:
        raise ToolchainError(
            f"{path} can't be run: it didn't say what it is within {seconds:g} seconds\n"
            f"  likely fix: set {_VARIABLE[language]}"
        ) from error
    except OSError as error:
        raise ToolchainError(f"{path} can't be run: {error}\n  likely fix: set {_VARIABLE[language]}") from error
    version = _VERSION.search(text)
    target = re.search(r"^Target: (\S+)$", text, re.MULTILINE)
    if status or version is None or target is None:
        ended = f"signal {-status}" if status < 0 else f"status {status}"
        said = f"it answered ({ended}):\n{text[:1000].rstrip()}" if text.strip() else f"it said nothing ({ended})"
        raise ToolchainError(
            f"{shlex.join(command)} failed or is neither gcc nor clang; {said}\n"
            f"  likely fix: set {_VARIABLE[language]} to gcc or clang, and check that it compiles an empty file"
        )
    numbers = tuple(int(part) for part in version["number"].split("."))
    return _Facts(version["kind"], numbers, target[1], version["line"].strip(), _system_dirs(text))


def _answer(command: list[str], environment: dict[str, str], seconds: float) -> tuple[int, str]:
    """A compiler's exit status and what it wrote; one that takes longer is killed, with all that it started."""
    import signal
    import subprocess

    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            _, text = process.communicate(timeout=seconds)
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, text.decode("utf-8", "surrogateescape")


def _system_dirs(text: str) -> tuple[str, ...]:
    """The header folders that belong to the compiler; what lies in /usr/local/include is the user's."""
    found = _SEARCH.search(text)
    lines = found["dirs"].splitlines() if found else []
    dirs = [os.path.realpath(line.strip().removesuffix(" (framework directory)")) for line in lines]
    return tuple(str(Path(folder)) for folder in dirs if folder != "/usr/local/include")
