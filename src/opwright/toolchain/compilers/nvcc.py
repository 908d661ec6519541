"""CUDA's compiler nvcc, its toolkit, and its host compiler."""

from __future__ import annotations

import functools
import glob
import os
import re
import sys
from typing import Any, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.compilers.compiler import (
    OLDEST,
    Compiler,
    compiler_from,
    find_compiler,
    probe_key,
    remembered_probe,
    which,
)

CUDA_HOME_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_USUAL = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
_PROBE_SECONDS = 60
_LARGEST_SCRIPT = 1 << 16
_RELEASE = re.compile(r"release (\d+)\.(\d+)(?:, V([\d.]+))?")


def cuda_home() -> str | None:
    """Return the CUDA toolkit's folder, or None.

    It is the value of ``CUDA_HOME`` or ``CUDA_PATH`` if set, else the first toolkit among the folder of the ``nvcc`` on
    the ``PATH``, the usual folders, and the wheels of ``pip install nvidia-cuda-nvcc``, which together make a whole
    toolkit. A folder found without a variable must contain both ``nvcc`` and the headers: a script called nvcc in
    /usr/local/bin doesn't make /usr/local a toolkit.
    """
    for variable in CUDA_HOME_VARIABLES:
        if named := os.environ.get(variable):
            return named
    program = which("nvcc")
    candidates = (
        [os.path.dirname(os.path.dirname(path)) for path in (os.path.realpath(program), program)] if program else []
    )
    candidates += [*_USUAL, *sorted(glob.glob("/usr/local/cuda-*"), key=_version_in_name, reverse=True)]
    candidates += sorted(pip_folders("cu*"), key=_version_in_name, reverse=True)
    return next((folder for folder in candidates if _is_toolkit(folder)), None)


def find_nvcc() -> Compiler:
    """Return CUDA's compiler: the value of ``PYTORCH_NVCC`` if set, else nvcc in `cuda_home`.

    Raises:
        ToolchainError: there is no nvcc, it can't be run, or there is no host compiler for it.
    """
    home = cuda_home()
    path = os.environ.get("PYTORCH_NVCC") or (os.path.join(home, "bin", "nvcc") if home else "")
    if not path:
        raise ToolchainError(
            "no CUDA compiler: nvcc is not on the PATH, neither CUDA_HOME nor CUDA_PATH is set, none of "
            f"{', '.join(_USUAL)} is a toolkit, and the nvidia-cuda-nvcc wheel isn't installed\n"
            "  likely fix: pip install nvidia-cuda-nvcc, or install the CUDA toolkit and set CUDA_HOME to the folder "
            "that has bin/nvcc"
        )
    if not os.access(path, os.X_OK) or not os.path.isfile(path):
        setting = next(
            (f"{name}={os.environ[name]}" for name in (*CUDA_HOME_VARIABLES, "PYTORCH_NVCC") if name in os.environ),
            home,
        )
        raise ToolchainError(
            f"no CUDA compiler at {path} ({setting})\n"
            "  likely fix: set CUDA_HOME to the toolkit's folder, the one that has bin/nvcc, or unset it"
        )
    facts = _facts(path)
    host = host_compiler(home, ".".join(map(str, facts.version)))
    folders = [os.path.realpath(folder) for folder in include_dirs(home)] if home else []
    return Compiler(
        path=path,
        kind="nvcc",
        version=facts.version,
        target=host.target,
        identity=f"{os.path.realpath(path)}|{facts.line}|{host.identity}",
        arguments=("-ccbin", host.path, *(f"-Xcompiler={flag}" for flag in host.arguments)),
        system_dirs=(*folders, *host.system_dirs),
        host=host,
    )


def include_dirs(home: str) -> list[str]:
    """Return the folders of the toolkit's headers, except /usr/include, which every compiler searches."""
    folder = os.path.join(home, "include")
    return [] if folder == "/usr/include" else [folder]


def library_dir(home: str) -> str:
    """Return the folder of the toolkit's libraries."""
    folder = os.path.join(home, "lib64")
    return (
        folder if os.path.isdir(folder) or not os.path.isdir(os.path.join(home, "lib")) else os.path.join(home, "lib")
    )


def pip_folders(*patterns: str) -> list[str]:
    """Return NVIDIA's pip folders ``nvidia/PATTERN`` in ``sys.path`` order, the newest versions first."""
    return [
        os.path.abspath(path)
        for folder in sys.path
        for pattern in patterns
        for path in sorted(
            glob.glob(os.path.join(glob.escape(folder or "."), "nvidia", pattern)), key=_version_in_name, reverse=True
        )
    ]


def _is_toolkit(folder: str) -> bool:
    return os.access(os.path.join(folder, "bin", "nvcc"), os.X_OK) and os.path.isfile(
        os.path.join(folder, "include", "cuda_runtime.h")
    )


def _version_in_name(folder: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", os.path.basename(folder))]


class _Facts(NamedTuple):
    """The facts that an nvcc reports about itself.

    Attributes:
        version: such as ``(13, 0)``.
        line: the output that contains the version.
        architectures: the supported architectures, such as ``"75"``; empty if nvcc doesn't list them.
    """

    version: tuple[int, ...]
    line: str
    architectures: tuple[str, ...]


def architectures(path: str) -> tuple[str, ...]:
    """Return the architectures that the nvcc at `path` supports, such as ``"75"``; empty if nvcc doesn't list them.

    Raises:
        ToolchainError: the program can't be run, or isn't nvcc.
    """
    return _facts(path).architectures


def _facts(path: str) -> _Facts:
    """Return the facts of the nvcc at `path`; it is run again if its file changes."""
    status = os.stat(path)
    return _facts_of_file(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache
def _facts_of_file(path: str, size: int, date: int) -> _Facts:
    """Return `_facts`, cached for other processes too unless nvcc is a script: the program it calls may change."""
    if size < _LARGEST_SCRIPT:
        return _ask(path)
    key = probe_key(os.path.realpath(path), size, date)
    return remembered_probe(f"nvcc-{key}", lambda: _ask(path), _parse_facts)


def _parse_facts(values: Any) -> _Facts:
    version, line, listed = values
    return _Facts(tuple(map(int, version)), str(line), tuple(map(str, listed)))


def _ask(path: str) -> _Facts:
    status, output = _run(path, "--version")
    release = _RELEASE.search(output)
    if status or not release:
        answer = f"it answered:\n{output[:1000].rstrip()}" if output.strip() else f"it said nothing (status {status})"
        raise ToolchainError(
            f"{path} --version failed or isn't nvcc's; {answer}\n  likely fix: set CUDA_HOME to a whole CUDA toolkit"
        )
    listed = re.findall(r"^compute_(\d+[a-z]?)$", _run(path, "--list-gpu-arch")[1], re.MULTILINE)
    in_order = sorted(dict.fromkeys(listed), key=lambda name: int(name.rstrip("af")))
    return _Facts((int(release[1]), int(release[2])), release[0], tuple(in_order))


def _run(path: str, option: str) -> tuple[int, str]:
    import subprocess

    try:
        done = subprocess.run(
            [path, option], capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{path} can't be run: {error}\n  likely fix: set CUDA_HOME") from error
    return done.returncode, done.stdout + done.stderr


HOST_COMPILER_VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX")
"""The variables that name nvcc's host compiler: nvcc's own and CMake's."""

_PROGRAM = {"gcc": "g++", "clang": "clang++"}


def host_compiler(home: str | None, version: str) -> Compiler:
    """Return nvcc's host compiler: the value of ``NVCC_CCBIN`` or ``CUDAHOSTCXX``, else the usual C++ compiler.

    If the usual compiler is too new for the toolkit, return the newest accepted one that is installed under its usual
    name (``g++-14``). It compiles only the kernel launches.

    Args:
        home: the toolkit's folder, whose headers limit the compiler's version.
        version: the toolkit's version, for messages.

    Raises:
        ToolchainError: there is no suitable compiler.
    """
    for variable in HOST_COMPILER_VARIABLES:
        if named := os.environ.get(variable):
            return compiler_from("c++", [named], f"{variable}={named}")
    compiler = find_compiler("c++")
    newest = newest_compilers(home).get(compiler.kind, 0) if home else 0
    if not newest or compiler.version[0] <= newest or _is_check_disabled():
        return compiler
    return _find_older(compiler, newest) or _refused(compiler, newest, version)


@functools.lru_cache
def newest_compilers(home: str) -> dict[str, int]:
    """Return the newest gcc and clang versions that the toolkit in `home` accepts; empty if it sets no limit."""
    try:
        with open(os.path.join(home, "include", "crt", "host_config.h"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return {}
    gcc, clang = re.search(r"__GNUC__ > (\d+)", text), re.search(r"#if \(__clang_major__ >= (\d+)\)", text)
    newest = {"gcc": int(gcc[1]) if gcc else 0, "clang": int(clang[1]) - 1 if clang else 0}
    return {kind: number for kind, number in newest.items() if number}


def _is_check_disabled() -> bool:
    flags = os.environ.get("NVCC_APPEND_FLAGS", "") + os.environ.get("NVCC_PREPEND_FLAGS", "")
    return "-allow-unsupported-compiler" in flags


def _find_older(compiler: Compiler, newest: int) -> Compiler | None:
    for number in range(newest, OLDEST[compiler.kind] - 1, -1):
        if path := which(f"{_PROGRAM[compiler.kind]}-{number}"):
            return compiler_from("c++", [path], path)
    return None


def _refused(compiler: Compiler, newest: int, version: str) -> Compiler:
    program = f"{_PROGRAM[compiler.kind]}-{newest}"
    raise ToolchainError(
        f"{compiler} at {compiler.path} is too new for nvcc {version}, which takes {compiler.kind} up to {newest}\n"
        f"  likely fix: install {program} (it is found by that name), or set NVCC_CCBIN to an older compiler, or take "
        "a newer CUDA"
    )
