"""CUDA's compiler, and the toolkit around it."""

from __future__ import annotations

import functools
import glob
import os
import re

from opwright.errors import ToolchainError
from opwright.toolchain.compiler import Compiler, find_compiler, which

VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_USUAL = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
_PROBE_SECONDS = 60
_RELEASE = re.compile(r"release (\d+)\.(\d+)(?:, V([\d.]+))?")


def cuda_home() -> str | None:
    """The CUDA toolkit's folder: what ``CUDA_HOME`` or ``CUDA_PATH`` says, else where ``nvcc`` or the usual places are.

    A folder that is found without being named is only taken if it holds both ``nvcc`` and the headers: a script called
    nvcc in /usr/local/bin doesn't make /usr/local a toolkit.
    """
    for variable in VARIABLES:
        if named := os.environ.get(variable):
            return named
    found = which("nvcc")
    candidates = [os.path.dirname(os.path.dirname(path)) for path in (os.path.realpath(found), found)] if found else []
    candidates += [*_USUAL, *sorted(glob.glob("/usr/local/cuda-*"), key=_version_in_name, reverse=True)]
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
            "no CUDA compiler: nvcc is not on the PATH, neither CUDA_HOME nor CUDA_PATH is set, and none of "
            f"{', '.join(_USUAL)} is a toolkit\n"
            "  likely fix: install the CUDA toolkit, or set CUDA_HOME to the folder that has bin/nvcc"
        )
    if not os.access(path, os.X_OK) or not os.path.isfile(path):
        said = next((f"{name}={os.environ[name]}" for name in (*VARIABLES, "PYTORCH_NVCC") if name in os.environ), home)
        raise ToolchainError(
            f"no CUDA compiler at {path} ({said})\n"
            "  likely fix: set CUDA_HOME to the toolkit's folder, the one that has bin/nvcc, or unset it"
        )
    host = find_compiler("c++")
    version, line = _asked(path, os.stat(path).st_mtime_ns)
    folders = [os.path.realpath(folder) for folder in include_dirs(home)] if home else []
    return Compiler(
        path=path,
        kind="nvcc",
        version=version,
        target=host.target,
        identity=f"{os.path.realpath(path)}|{line}|{host.identity}",
        arguments=("-ccbin", host.path),
        system_dirs=(*folders, *host.system_dirs),
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


def _is_toolkit(folder: str) -> bool:
    return os.access(os.path.join(folder, "bin", "nvcc"), os.X_OK) and os.path.isfile(
        os.path.join(folder, "include", "cuda_runtime.h")
    )


def _version_in_name(folder: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", os.path.basename(folder))]


@functools.lru_cache
def _asked(path: str, date: int) -> tuple[tuple[int, ...], str]:
    """The version of the nvcc at `path`, and the line that says it; asked again when its file's `date` changes."""
    del date
    import subprocess

    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{path} can't be run: {error}\n  likely fix: set CUDA_HOME") from error
    found = _RELEASE.search(done.stdout)
    if done.returncode or not found:
        raise ToolchainError(
            f"{path} --version failed or isn't nvcc's; it answered:\n{(done.stdout + done.stderr)[:1000].rstrip()}\n"
            "  likely fix: set CUDA_HOME to a whole CUDA toolkit"
        )
    return (int(found[1]), int(found[2])), found[0]


@functools.lru_cache
def architectures(path: str) -> tuple[str, ...]:
    """The architectures that the nvcc at `path` compiles for, as ``"75"``; nothing where it doesn't say."""
    import subprocess

    try:
        done = subprocess.run(
            [path, "--list-gpu-arch"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(re.findall(r"compute_(\w+)", done.stdout))
