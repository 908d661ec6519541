"""CUDA's compiler, and the toolkit around it."""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import re
import sys
from hashlib import sha256
from typing import NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.cache import FORMAT, cache_root, write_atomically
from opwright.toolchain.compiler import Compiler, which
from opwright.toolchain.host_compiler import host_compiler

VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_USUAL = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
_PROBE_SECONDS = 60
_LARGEST_SCRIPT = 1 << 16
_RELEASE = re.compile(r"release (\d+)\.(\d+)(?:, V([\d.]+))?")


def cuda_home() -> str | None:
    """The CUDA toolkit's folder: what ``CUDA_HOME`` or ``CUDA_PATH`` says, else where ``nvcc`` or the usual places are.

    Last of all come the wheels of ``pip install nvidia-cuda-nvcc``, which make a whole toolkit together. A folder that
    is found without being named is only taken if it holds both ``nvcc`` and the headers: a script called nvcc in
    /usr/local/bin doesn't make /usr/local a toolkit.
    """
    for variable in VARIABLES:
        if named := os.environ.get(variable):
            return named
    found = which("nvcc")
    candidates = [os.path.dirname(os.path.dirname(path)) for path in (os.path.realpath(found), found)] if found else []
    candidates += [*_USUAL, *sorted(glob.glob("/usr/local/cuda-*"), key=_version_in_name, reverse=True)]
    candidates += sorted(pip_folders("cu*"), key=_version_in_name, reverse=True)
    return next((folder for folder in candidates if _is_toolkit(folder)), None)


def find_nvcc() -> Compiler:
    """CUDA's compiler.

    ``PYTORCH_NVCC`` names it where that variable is set, else it is the one of `cuda_home`.

    Raises:
        ToolchainError: there is none, or it can't be run; or there is no C++ compiler for its host side.
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
        said = next((f"{name}={os.environ[name]}" for name in (*VARIABLES, "PYTORCH_NVCC") if name in os.environ), home)
        raise ToolchainError(
            f"no CUDA compiler at {path} ({said})\n"
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
        arguments=("-ccbin", host.path, *(f"-Xcompiler={word}" for word in host.arguments)),
        system_dirs=(*folders, *host.system_dirs),
        host=host,
    )


def include_dirs(home: str) -> list[str]:
    """The folders of the toolkit's headers, not those that every compiler searches anyway."""
    folder = os.path.join(home, "include")
    return [] if folder == "/usr/include" else [folder]


def library_dir(home: str) -> str:
    """The folder of the toolkit's libraries."""
    folder = os.path.join(home, "lib64")
    return (
        folder if os.path.isdir(folder) or not os.path.isdir(os.path.join(home, "lib")) else os.path.join(home, "lib")
    )


def pip_folders(*patterns: str) -> list[str]:
    """Where pip has put NVIDIA's packages, ``nvidia/PATTERN``, in the order of modules; of each, the newest first."""
    return [
        os.path.abspath(found)
        for folder in sys.path
        for pattern in patterns
        for found in sorted(
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
    """What an nvcc said of itself.

    Attributes:
        version: such as ``(13, 0)``.
        line: in which it says it.
        architectures: what it compiles for, as ``"75"``; nothing where it doesn't say.
    """

    version: tuple[int, ...]
    line: str
    architectures: tuple[str, ...]


def architectures(path: str) -> tuple[str, ...]:
    """The architectures that the nvcc at `path` compiles for, as ``"75"``; nothing where it doesn't say.

    Raises:
        ToolchainError: it can't be run, or is something else.
    """
    return _facts(path).architectures


def _facts(path: str) -> _Facts:
    """What the nvcc at `path` is; asked again when its file changes."""
    found = os.stat(path)
    return _known(path, found.st_size, found.st_mtime_ns)


@functools.lru_cache
def _known(path: str, size: int, date: int) -> _Facts:
    """As `_facts`. What a program said is kept for other processes; a script is asked each time: what does it run?"""
    if size < _LARGEST_SCRIPT:
        return _ask(path)
    key = sha256(f"{FORMAT}|{os.path.realpath(path)}|{size}|{date}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    try:
        file = cache_root() / "compilers" / f"nvcc-{key}.json"
        version, line, listed = json.loads(file.read_bytes())
        return _Facts(tuple(map(int, version)), str(line), tuple(map(str, listed)))
    except ToolchainError:  # whoever wants to build says so
        return _ask(path)
    except (OSError, ValueError, TypeError, RecursionError):
        facts = _ask(path)
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(file, json.dumps(facts))
    return facts


def _ask(path: str) -> _Facts:
    status, said = _answer(path, "--version")
    found = _RELEASE.search(said)
    if status or not found:
        answer = f"it answered:\n{said[:1000].rstrip()}" if said.strip() else f"it said nothing (status {status})"
        raise ToolchainError(
            f"{path} --version failed or isn't nvcc's; {answer}\n  likely fix: set CUDA_HOME to a whole CUDA toolkit"
        )
    listed = re.findall(r"^compute_(\d+[a-z]?)$", _answer(path, "--list-gpu-arch")[1], re.MULTILINE)
    in_order = sorted(dict.fromkeys(listed), key=lambda name: int(name.rstrip("af")))
    return _Facts((int(found[1]), int(found[2])), found[0], tuple(in_order))


def _answer(path: str, word: str) -> tuple[int, str]:
    import subprocess

    try:
        done = subprocess.run(
            [path, word], capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{path} can't be run: {error}\n  likely fix: set CUDA_HOME") from error
    return done.returncode, done.stdout + done.stderr
