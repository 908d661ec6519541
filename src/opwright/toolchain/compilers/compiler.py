"""Finding and identifying the C and C++ compilers.

A compiler is probed once. The result is cached by its file's size and date, so that a process with nothing to compile
starts no other process.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from opwright.errors import ToolchainError
from opwright.languages import Language
from opwright.toolchain.cache.folder import FORMAT, cache_root, write_atomically
from opwright.toolchain.cache.read_only import read_only_root

if TYPE_CHECKING:
    from collections.abc import Callable

Facts = TypeVar("Facts")

_VARIABLE = {"c": "CC", "c++": "CXX"}
_LAUNCHER_VARIABLE = {"c": "CMAKE_C_COMPILER_LAUNCHER", "c++": "CMAKE_CXX_COMPILER_LAUNCHER"}
_CANDIDATES = {"c": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
OLDEST = {"gcc": 11, "clang": 15}
_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache", "env"})
_PACKAGES = {
    "c": "apt install gcc (Debian, Ubuntu), dnf install gcc (Fedora, RHEL)",
    "c++": "apt install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora, RHEL)",
}
_PROBE_SECONDS = 60
SEARCHED_BY_COMPILERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_OURS = f"{Path(__file__).parents[2]}{os.sep}"


class Compiler(NamedTuple):
    """A compiler that can be used.

    Attributes:
        path: its executable, as found (links not followed).
        kind: the compiler family, which determines the command-line syntax.
        version: such as ``(12, 2, 0)``.
        target: the machine it compiles for, such as ``x86_64-linux-gnu``.
        identity: a string that changes whenever the compiler does; part of every cache key.
        launcher: a command in front of the compiler, such as ``("ccache",)``.
        arguments: arguments that are always passed (from ``CXX="g++ -m64"``).
        system_dirs: its own header folders, links followed.
        host: nvcc's host compiler (C++).
        missing: why it can't be run, if it only stands for the one that filled the cache (`find_or_recall`).
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
    missing: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The command that starts the compiler, with its launcher."""
        return (*self.launcher, self.path, *self.arguments)

    @property
    def link_command(self) -> tuple[str, ...]:
        """The command that links, without the launcher, which can only compile."""
        return (self.path, *self.arguments)

    def __str__(self) -> str:
        """Return the compiler's name and version, such as ``g++ 12.2.0``."""
        return f"{os.path.basename(self.path)} {'.'.join(map(str, self.version))}"


class _Facts(NamedTuple):
    """A compiler's answers to the probe."""

    kind: str
    version: tuple[int, ...]
    target: str
    line: str
    system_dirs: tuple[str, ...]


def find_compiler(language: Language = "c++", *, seconds: float = _PROBE_SECONDS) -> Compiler:
    """Return the compiler for ``language``.

    This is the value of ``CC`` or ``CXX`` if set (which may contain a launcher and flags: ``ccache g++ -m64``), else
    the first usable one of ``c++``, ``g++``, ``clang++`` (for C: ``cc``, ``gcc``, ``clang``) on the ``PATH``. A
    launcher can also be set in ``OPWRIGHT_LAUNCHER`` or ``CMAKE_CXX_COMPILER_LAUNCHER``.

    Args:
        language: ``"c"`` or ``"c++"``; for CUDA, see `opwright.toolchain.compilers.nvcc.find_nvcc`.
        seconds: the time limit of the probe.

    Raises:
        ToolchainError: there is no compiler, it is too old (gcc before 11, clang before 15), or it can't be run.
    """
    variable = _VARIABLE[language]
    words = _split(variable)
    if words:
        return compiler_from(language, words, f"{variable}={os.environ[variable]}", seconds)
    refused: list[str] = []
    for name in _CANDIDATES[language]:
        if path := which(name):
            try:
                return _describe(language, path, _launcher_from_environment(language), (), seconds)
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


def find_or_recall(language: Language) -> Compiler:
    """Return the compiler for ``language``; if there is none any more, the one that compiled last.

    With the latter, libraries are found in the cache; it can't be run, and `Compiler.missing` says why.

    Raises:
        ToolchainError: as for `find_compiler`, if nothing was ever compiled, or ``CC`` or ``CXX`` is set.
    """
    try:
        return find_compiler(language)
    except ToolchainError as error:
        if os.environ.get(_VARIABLE[language]) or (last := _last(language)) is None:
            raise
        return last._replace(missing=str(error))


def remember_last(language: Language, compiler: Compiler) -> None:
    """Note in the cache which compiler was used last, for `find_or_recall`."""
    if compiler.host or compiler == _last(language):
        return
    with contextlib.suppress(OSError):  # a full cache; the library itself is there
        file = _note_file(cache_root(), _last_name(language))
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(file, json.dumps(compiler[: Compiler._fields.index("host")]))


def _last(language: Language) -> Compiler | None:
    return _noted(_last_name(language), _parse_compiler)


def _parse_compiler(values: Any) -> Compiler:
    path, kind, version, target, identity, *words = values
    launcher, arguments, system_dirs = (tuple(map(str, each)) for each in words)
    return Compiler(
        str(path), kind, tuple(map(int, version)), str(target), str(identity), launcher, arguments, system_dirs
    )


def _last_name(language: Language) -> str:
    return f"last-{language}"


def _note_file(root: Path, name: str) -> Path:
    return root / "compilers" / f"{name}.json"


def _noted(name: str, parse: Callable[[Any], Facts]) -> Facts | None:
    """Return what the read-only cache or the user's cache says of a compiler; None if neither can be read."""
    for find_root in (read_only_root, cache_root):
        with contextlib.suppress(ToolchainError, OSError, ValueError, TypeError, RecursionError):
            if root := find_root():
                return parse(json.loads(_note_file(root, name).read_bytes()))
    return None


def which(name: str, skip: frozenset[str] = frozenset()) -> str | None:
    """Return the path of the executable ``name`` (searched on the ``PATH`` unless it is a path), or None."""
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
        return [text]  # an existing path with unquoted spaces
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ToolchainError(
            f"{variable}={text!r} can't be split into words: {error}\n  likely fix: close the quote"
        ) from error


def _launcher_from_environment(language: Language) -> tuple[str, ...]:
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
    """Return the compiler of a command ``[launcher [its flags]] compiler [flags]``, as in ``CC`` and ``CXX``.

    Args:
        language: the language to compile.
        words: the command's arguments.
        origin: where the command is set, for messages, such as ``CXX=g++``.
        seconds: the time limit of the probe.

    Raises:
        ToolchainError: there is no such program, it isn't a compiler, or it is too old.
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
    before = (launcher, *words[1:index]) if launcher else _launcher_from_environment(language)
    return _describe(language, path, before, tuple(words[index + 1 :]), seconds)


def _describe(
    language: Language, path: str, launcher: tuple[str, ...], arguments: tuple[str, ...], seconds: float
) -> Compiler:
    """Identify the compiler at ``path``, by a probe or by the cached result of an earlier one.

    Dates are compared in whole seconds, the precision of container images.
    """
    real = os.path.realpath(path)
    if os.path.basename(real) in _LAUNCHERS:  # /usr/lib/ccache/g++ links to ccache; the real g++ follows on PATH
        real = os.path.realpath(which(os.path.basename(path), skip=_LAUNCHERS) or path)
    try:
        status = os.stat(real)
    except OSError as error:  # removed since it was found
        raise ToolchainError(
            f"{path} can't be read: {error.strerror or error}\n  likely fix: try again if it is just being updated; "
            f"else set {_VARIABLE[language]}"
        ) from error
    stamp = f"{real}|{status.st_size}|{int(status.st_mtime)}|{' '.join(arguments)}"
    facts = _facts(language, path, arguments, stamp, seconds)
    kind: Literal["gcc", "clang"] = "gcc" if facts.kind == "gcc" else "clang"
    if facts.version[0] < OLDEST[kind]:
        raise ToolchainError(
            f"{path} is {kind} {'.'.join(map(str, facts.version))}, expected {kind} {OLDEST[kind]} or newer\n"
            f"  likely fix: install a newer one and point {_VARIABLE[language]} at it"
        )
    identity = f"{stamp}|{facts.line}|{facts.target}"
    return Compiler(path, kind, facts.version, facts.target, identity, launcher, arguments, facts.system_dirs)


def _facts(language: Language, path: str, arguments: tuple[str, ...], stamp: str, seconds: float) -> _Facts:
    key = probe_key(language, path, stamp)
    return remembered_probe(key, lambda: _probe(language, path, arguments, seconds), _parse_facts)


def _parse_facts(values: Any) -> _Facts:
    kind, version, target, line, system_dirs = values
    return _Facts(
        str(kind), tuple(map(int, version)) or (0,), str(target), str(line), tuple(map(os.fspath, system_dirs))
    )


def probe_key(*facts: object) -> str:
    """Return the cache file name for a probe's result; it changes with these `facts` about the compiler."""
    text = "|".join(map(str, (FORMAT, *facts)))
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def remembered_probe(name: str, probe: Callable[[], Facts], parse: Callable[[Any], Facts]) -> Facts:
    """Return the result of a probe from the cache, or run the probe and cache its result.

    Args:
        name: the cache file's name.
        probe: runs the compiler; its result can be written as JSON.
        parse: parses the cached JSON; raises ValueError or TypeError if it is something else.
    """
    if (known := _noted(name, parse)) is not None:
        return known
    facts = probe()
    # A build will report an unusable cache; here it only costs time.
    with contextlib.suppress(ToolchainError, OSError):
        file = _note_file(cache_root(), name)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(file, json.dumps(facts))
    return facts


_VERSION = re.compile(r"^(?P<line>.*\b(?P<kind>gcc|clang) version (?P<number>\d+(?:\.\d+)*).*)$", re.MULTILINE)
_SEARCH = re.compile(r"^#include <\.\.\.>.*?$\n(?P<dirs>(?:^ .*$\n)*)", re.MULTILINE)


def _probe(language: Language, path: str, arguments: tuple[str, ...], seconds: float) -> _Facts:
    """Run the compiler once, without a file, to get its version, target and header folders."""
    from subprocess import TimeoutExpired

    command = [path, *arguments, "-v", "-E", "-x", language, os.devnull]
    hidden = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}  # the user's folders, not the compiler's
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"LC_ALL": "C"}
    try:
        status, text = _run(command, environment, seconds)
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
        answer = f"it answered ({ended}):\n{text[:1000].rstrip()}" if text.strip() else f"it said nothing ({ended})"
        raise ToolchainError(
            f"{shlex.join(command)} failed or is neither gcc nor clang; {answer}\n"
            f"  likely fix: set {_VARIABLE[language]} to gcc or clang, and check that it compiles an empty file"
        )
    numbers = tuple(int(part) for part in version["number"].split("."))
    return _Facts(version["kind"], numbers, target[1], version["line"].strip(), _system_dirs(text))


def _run(command: list[str], environment: dict[str, str], seconds: float) -> tuple[int, str]:
    """Run a command; return its exit status and output. After `seconds` it is killed with its child processes."""
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
    """Return the compiler's own header folders, without /usr/local/include, whose files are the user's."""
    match = _SEARCH.search(text)
    lines = match["dirs"].splitlines() if match else []
    dirs = [os.path.realpath(line.strip().removesuffix(" (framework directory)")) for line in lines]
    return tuple(str(Path(folder)) for folder in dirs if folder != "/usr/local/include")


def compiler_environment() -> dict[str, str]:
    """Return the process's environment for compilers, without Opwright's own folders in their search paths.

    ``opwright run`` adds such folders for the compilers that old build scripts call themselves. A build of ours names
    the headers that it needs, and has the same cache key with and without ``opwright run``.
    """
    environment = dict(os.environ)
    for variable in SEARCHED_BY_COMPILERS:
        if _OURS in environment.get(variable, ""):
            folders = environment.pop(variable).split(os.pathsep)
            if others := [folder for folder in folders if not folder.startswith(_OURS)]:
                environment[variable] = os.pathsep.join(others)
    return environment
