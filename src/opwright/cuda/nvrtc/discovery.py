"""Finding NVRTC, its builtins, the headers of device code, and the GPUs that it supports."""

from __future__ import annotations

import glob
import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.compilers.compiler import remembered_probe
from opwright.toolchain.compilers.cuda_architectures import VARIABLE, architecture_flags
from opwright.toolchain.compilers.nvcc import CUDA_HOME_VARIABLES, cuda_home, pip_folders

_WHEELS = ("cu[0-9]*", "cuda_nvrtc", "cuda_runtime", "cuda_cccl", "cuda_nvcc")
"""NVIDIA's pip folders: CUDA 13 has one for all packages, earlier versions have one for each package."""
_LIBRARY = re.compile(r"libnvrtc\.so\.(\d+)(?:\.(\d+))?$")
_VERSION = re.compile(r"#define CUDA_VERSION (\d+)")
_FIX = "pip install nvidia-cuda-nvrtc nvidia-cuda-runtime (PyTorch's CUDA wheels bring both), or set CUDA_HOME"


class Nvrtc(NamedTuple):
    """A usable NVRTC.

    Attributes:
        library: the path of ``libnvrtc.so.13``.
        builtins: the library of builtins to load before it; "" if there is none beside it.
        major: its CUDA version.
        include_dirs: the folders of CUDA's headers; ``cub`` and ``cuda/std`` are in the second, if there are several.
    """

    library: str
    builtins: str
    major: int
    include_dirs: tuple[str, ...]

    @property
    def identity(self) -> str:
        """A string that changes whenever NVRTC or its headers change."""
        headers = (os.path.join(folder, "cuda_runtime_api.h") for folder in self.include_dirs)
        return repr([_stamp(path) for path in (self.library, *headers)])


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, status.st_size, int(status.st_mtime)


def find_nvrtc() -> Nvrtc:
    """Find NVRTC: in ``CUDA_HOME`` if set, else in pip's packages, else in a toolkit in the usual folders.

    The result isn't cached, because the environment and the installed packages may change. A search takes about a
    millisecond.

    Raises:
        ToolchainError: there is no NVRTC, or it has no headers.
    """
    homes = _homes()
    library, major = next((candidate for home in homes for candidate in _libraries(home)), ("", 0))
    if not library:
        looked = f"no libnvrtc.so in {', '.join(homes)}" if homes else "no package of NVIDIA's, and no CUDA toolkit"
        raise ToolchainError(f"there is no NVRTC here: {looked}\n  likely fix: {_FIX}")
    return Nvrtc(library, _builtins(library), major, _include_dirs(homes, library, major))


def missing() -> str:
    """Return why NVRTC can't be used, with a likely fix; "" if it can."""
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
    named = [os.environ[name] for name in CUDA_HOME_VARIABLES if os.environ.get(name)]
    toolkit = cuda_home()
    return list(dict.fromkeys([*named, *pip_folders(*_WHEELS), *([toolkit] if toolkit else [])]))


def _libraries(home: str) -> list[tuple[str, int]]:
    """Return the NVRTC libraries in a folder, newest first, each with its CUDA version."""
    versions: dict[str, int] = {}
    for folder in ("lib", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
        for path in glob.glob(os.path.join(glob.escape(home), folder, "libnvrtc.so.*")):
            if match := _LIBRARY.search(path):
                versions.setdefault(path, int(match[1]))
    return sorted(versions.items(), key=lambda pair: (-pair[1], len(pair[0])))


def _builtins(library: str) -> str:
    """Return the builtins to load before NVRTC, which searches for them only on the loader's path."""
    folder = glob.escape(os.path.dirname(library))
    return next(iter(sorted(glob.glob(os.path.join(folder, "libnvrtc-builtins.so.*.*")), key=len)), "")


def _headers(home: str, major: int) -> list[str]:
    folder = os.path.join(home, "include")
    try:
        with open(os.path.join(folder, "cuda.h"), encoding="utf-8", errors="replace") as file:
            version = next(filter(None, map(_VERSION.match, file)), None)  # it is near the top of a long file
    except OSError:
        return []
    whole = os.path.isfile(os.path.join(folder, "cuda_runtime_api.h"))
    return [folder] if whole and version and int(version[1]) // 1000 == major else []


_GENCODE = re.compile(r"-gencode=arch=compute_\w+,code=\[?([^\]]*)\]?")
_SECONDS = 60


class Target(NamedTuple):
    """An image of the device half: ``sm_90`` for machine code, ``compute_120`` for PTX."""

    architecture: str

    @property
    def is_ptx(self) -> bool:
        """Whether it is PTX, which the GPU's driver compiles at load time."""
        return self.architecture.startswith("compute_")

    @property
    def number(self) -> int:
        """The architecture's number: 90 for ``sm_90`` and for ``sm_90a``."""
        return int(re.sub(r"\D", "", self.architecture))

    @property
    def exact(self) -> bool:
        """Whether it runs on this architecture only, such as ``sm_90a``."""
        return self.architecture[-1] in "af"


def targets(nvrtc: Nvrtc) -> tuple[Target, ...]:
    """Return the targets: ``TORCH_CUDA_ARCH_LIST``, else this machine's GPUs, else the oldest supported one, with PTX.

    Raises:
        ToolchainError: this NVRTC doesn't support a requested architecture, or can't be run.
    """
    try:
        flags = architecture_flags(supported_architectures(nvrtc))
    except ToolchainError as error:
        raise ToolchainError(str(error).replace("this nvcc", "this NVRTC")) from None
    named = [name for flag in flags if (match := _GENCODE.fullmatch(flag)) for name in match[1].split(",")]
    if not named:
        raise ToolchainError(f"{VARIABLE} names no architecture\n  likely fix: unset it")
    return tuple(Target(name) for name in dict.fromkeys(named))


def supported_architectures(nvrtc: Nvrtc) -> tuple[str, ...]:
    """Return the architectures that NVRTC supports, such as ``"75"``, oldest first; the result is cached.

    Raises:
        ToolchainError: NVRTC can't be run.
    """
    key = sha256(nvrtc.identity.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return remembered_probe(f"nvrtc-{key}", lambda: _query_architectures(nvrtc), _parse_architectures)


def _parse_architectures(values: Any) -> tuple[str, ...]:
    if not values:
        raise ValueError("a list of no architectures")
    return tuple(map(str, values))


def _query_architectures(nvrtc: Nvrtc) -> tuple[str, ...]:
    import subprocess

    worker = Path(__file__).with_name("worker.py")
    command = [sys.executable, "-I", "-S", str(worker), "--architectures", nvrtc.library, nvrtc.builtins]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"NVRTC at {nvrtc.library} can't be run: {error}") from error
    numbers = tuple(sorted(done.stdout.split(), key=int)) if done.returncode == 0 else ()
    if not numbers:
        raise ToolchainError(
            f"NVRTC at {nvrtc.library} can't be run: {(done.stdout + done.stderr).strip()[-500:] or 'no word'}\n"
            "  likely fix: install it again (pip install --force-reinstall nvidia-cuda-nvrtc)"
        )
    return numbers
