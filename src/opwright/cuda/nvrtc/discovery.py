"""Where NVRTC is, with its builtins, and the headers that device code includes."""

from __future__ import annotations

import glob
import os
import re
from typing import NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.nvcc import VARIABLES, cuda_home, pip_folders

__all__ = ["Nvrtc", "find_nvrtc", "missing"]

_WHEELS = ("cu[0-9]*", "cuda_nvrtc", "cuda_runtime", "cuda_cccl", "cuda_nvcc")
"""CUDA 13 has one folder for all its packages; before, each had its own."""
_LIBRARY = re.compile(r"libnvrtc\.so\.(\d+)(?:\.(\d+))?$")
_VERSION = re.compile(r"#define CUDA_VERSION (\d+)")
_FIX = "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime (PyTorch's CUDA wheels bring both), or set CUDA_HOME"


class Nvrtc(NamedTuple):
    """An NVRTC that can be used.

    Attributes:
        library: ``libnvrtc.so.13``.
        builtins: the library that it needs beside it; "" where it finds that by itself.
        major: its CUDA version.
        include_dirs: the folders of CUDA's headers; ``cub`` and ``cuda/std`` are in the second, where there is one.
    """

    library: str
    builtins: str
    major: int
    include_dirs: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Changes whenever NVRTC or its headers do."""
        headers = (os.path.join(folder, "cuda_runtime_api.h") for folder in self.include_dirs)
        return repr([_stamp(path) for path in (self.library, *headers)])


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_size, int(found.st_mtime)


def find_nvrtc() -> Nvrtc:
    """NVRTC: what ``CUDA_HOME`` has, if it is set; else what pip has installed; else a toolkit's in the usual places.

    It is looked for anew each time, which takes about a millisecond: the environment, and what is installed, may have
    changed.

    Raises:
        ToolchainError: there is none, or no headers beside it.
    """
    homes = _homes()
    library, major = next((found for home in homes for found in _libraries(home)), ("", 0))
    if not library:
        looked = f"no libnvrtc.so in {', '.join(homes)}" if homes else "no package of NVIDIA's, and no CUDA toolkit"
        raise ToolchainError(f"there is no NVRTC here: {looked}\n  likely fix: {_FIX}")
    return Nvrtc(library, _builtins(library), major, _include_dirs(homes, library, major))


def missing() -> str:
    """Why there is none, with what helps; nothing where there is one."""
    try:
        find_nvrtc()
    except ToolchainError as error:
        return str(error)
    return ""


def _include_dirs(homes: list[str], library: str, major: int) -> tuple[str, ...]:
    include = next((folder for home in homes for folder in _headers(home, major)), None)
    if include is None:
        raise ToolchainError(
            f"NVRTC is at {library}, but CUDA's headers of the same version (cuda_runtime_api.h, cuda.h) aren't in "
            f"{', '.join(homes)}\n  likely fix: pip install nvidia-cuda-runtime=={major}.*"
        )
    more = (os.path.join(home, part) for home in homes for part in ("include/cccl", "include"))
    cccl = next((f for f in more if os.path.isfile(os.path.join(f, "cub", "cub.cuh"))), None)
    groups = [f"{home}/include" for home in homes if os.path.isfile(f"{home}/include/cooperative_groups.h")]
    return tuple(dict.fromkeys([include, *([cccl] if cccl else []), *groups[:1]]))


def _homes() -> list[str]:
    named = [os.environ[name] for name in VARIABLES if os.environ.get(name)]
    toolkit = cuda_home()
    return list(dict.fromkeys([*named, *pip_folders(*_WHEELS), *([toolkit] if toolkit else [])]))


def _libraries(home: str) -> list[tuple[str, int]]:
    """The libraries in a folder, newest first, each with its CUDA version."""
    found: dict[str, int] = {}
    for folder in ("lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
        for path in glob.glob(os.path.join(glob.escape(home), folder, "libnvrtc.so.*")):
            if match := _LIBRARY.search(path):
                found.setdefault(path, int(match[1]))
    return sorted(found.items(), key=lambda pair: (-pair[1], len(pair[0])))


def _builtins(library: str) -> str:
    """NVRTC looks for its builtins on the loader's search path, where those of a package aren't: loaded before it."""
    folder = glob.escape(os.path.dirname(library))
    return next(iter(sorted(glob.glob(os.path.join(folder, "libnvrtc-builtins.so.*.*")), key=len)), "")


def _headers(home: str, major: int) -> list[str]:
    folder = os.path.join(home, "include")
    try:
        with open(os.path.join(folder, "cuda.h"), encoding="utf-8", errors="replace") as file:
            version = next(filter(None, map(_VERSION.match, file)), None)  # it is among the first of many lines
    except OSError:
        return []
    whole = os.path.isfile(os.path.join(folder, "cuda_runtime_api.h"))
    return [folder] if whole and version and int(version[1]) // 1000 == major else []
