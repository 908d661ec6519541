"""Finds the installed PyTorch without importing it: a ``setup.py`` needs only its folders."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Literal, NamedTuple

from opwright._version import OLDEST_PYTORCH, is_too_old
from opwright.errors import ToolchainError
from opwright.toolchain import Compiler, header_dir
from opwright.toolchain.compilers import nvcc

_VALUE = re.compile(r"^(__version__|cuda|git_version|hip)\b[^=\n]*= *(?:'([^'\n]*)'|None)", re.MULTILINE)


class Torch(NamedTuple):
    """An installed PyTorch.

    Attributes:
        root: the package's folder.
        version: such as ``2.13.0+cpu``.
        cuda: its CUDA version, such as ``13.0``; None for a build without CUDA.
        identity: changes with the installation; part of every cache key.
    """

    root: Path
    version: str
    cuda: str | None
    identity: str

    @property
    def lib(self) -> Path:
        """The folder of its libraries."""
        return self.root / "lib"

    @property
    def include_dirs(self) -> list[str]:
        """The include folders."""
        include = self.root / "include"
        return [str(include), str(include / "torch" / "csrc" / "api" / "include")]


def find_torch() -> Torch:
    """Return the PyTorch that ``import torch`` would import.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
        ToolchainError: PyTorch is too old, or has no headers.
    """
    loaded = sys.modules.get("torch")
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        spec = importlib.util.find_spec("torch")
        origin = spec.origin if spec else None
    if origin is None:
        raise ModuleNotFoundError(
            f"building an ATen extension needs PyTorch {OLDEST_PYTORCH} or newer, and none is installed for "
            f"{sys.executable}\n  likely fix: pip install opwright[torch]; and where pip builds the extension: "
            "pip install --no-build-isolation",
            name="torch",
        )
    return _described(os.path.dirname(os.path.abspath(origin)))


@functools.lru_cache
def _described(folder: str) -> Torch:
    root = Path(folder)
    values = dict(_VALUE.findall(_version_file(root)))
    version = values.get("__version__", "")
    if is_too_old(version):
        raise ToolchainError(
            f"PyTorch {version} in {root} is too old, expected {OLDEST_PYTORCH} or newer\n"
            f'  likely fix: pip install "torch>={OLDEST_PYTORCH}"'
        )
    if not (root / "include" / "torch" / "extension.h").is_file():
        raise ToolchainError(
            f"the PyTorch in {root} has no headers: {root / 'include/torch/extension.h'} isn't there\n"
            "  likely fix: pip install --force-reinstall torch (a build from source needs its install step)"
        )
    stamps = [root / "version.py", root / "include/torch/extension.h", *sorted((root / "lib").glob("libtorch_*.so"))]
    facts = [(path.name, stat.st_size, int(stat.st_mtime)) for path in stamps for stat in [path.stat()]]
    identity = f"torch {version} {values.get('git_version', '')} {root} {facts}"
    return Torch(root, version, values.get("cuda") or None, identity)


def _version_file(root: Path) -> str:
    try:
        return (root / "version.py").read_text("utf-8", "replace")
    except OSError as error:
        raise ToolchainError(
            f"the PyTorch in {root} isn't whole: {root / 'version.py'}: {error.strerror or error}\n"
            "  likely fix: pip install --force-reinstall torch"
        ) from error


def python_include() -> str:
    """Return the folder of ``Python.h``.

    Raises:
        ToolchainError: the header isn't installed.
    """
    folder = sysconfig.get_path("include")
    if not os.path.isfile(os.path.join(folder, "Python.h")):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ToolchainError(
            f"Python {version} ({sys.executable}) has no headers: {folder}/Python.h isn't there\n"
            f"  likely fix: apt install python{version}-dev (Debian, Ubuntu), dnf install python3-devel (Fedora), "
            "or use a Python from conda, uv or python.org, which have them"
        )
    return folder


def python_include_if_any() -> str:
    """Return the folder of ``Python.h``, or an empty string; for programs, which don't need it."""
    try:
        return python_include()
    except ToolchainError:
        return ""


EMULATION_VARIABLE = "OPWRIGHT_EMULATE_CUDA"
"""The environment variable that ``opwright run --emulate`` sets: ``1``, or ``check`` to check every access."""
EMULATION_HEADERS = (
    *(str(header_dir() / "opwright" / "emulation" / name) for name in ("shadow", "extensions")),
    str(header_dir()),
)
"""The folders of the headers that stand in for the toolkit's, in the order of search."""


def emulation() -> Literal["", "run", "check"]:
    """Return how this process emulates CUDA for PyTorch's extensions; "" if it doesn't."""
    value = os.environ.get(EMULATION_VARIABLE, "0")
    return "" if value in ("", "0") else "check" if value == "check" else "run"


def cuda_home() -> str:
    """Return the CUDA toolkit's folder.

    Raises:
        ToolchainError: no toolkit is found; the text lists where it was searched.
    """
    home = nvcc.cuda_home()
    if home is None or not os.path.isdir(home):
        return os.path.dirname(os.path.dirname(nvcc.find_nvcc().path))
    return home


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """Return the include folders that an extension needs: PyTorch's, and for ``"cuda"`` the toolkit's.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
        ToolchainError: PyTorch's headers or the CUDA toolkit are missing.
    """
    paths = find_torch().include_dirs if torch_include_dirs else []
    if device_type == "cuda" and emulation():
        return [*EMULATION_HEADERS, *paths]
    if device_type == "cuda":
        paths += nvcc.include_dirs(cuda_home())
        if (more := os.environ.get("CUDA_INC_PATH")) and more != "/usr/include":
            paths.append(more)
        if cudnn := _cudnn_home():
            paths.append(os.path.join(cudnn, "include"))
    return paths


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """Return the folders of the libraries that an extension is linked to.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
        ToolchainError: the CUDA toolkit is missing.
    """
    paths = [str(find_torch().lib)] if torch_include_dirs else []
    if device_type == "cuda" and not emulation():
        paths.append(nvcc.library_dir(cuda_home()))
        if cudnn := _cudnn_home():
            paths.append(os.path.join(cudnn, "lib64"))
    return paths


def _cudnn_home() -> str | None:
    return os.environ.get("CUDNN_HOME") or os.environ.get("CUDNN_PATH")


def libraries(torch: Torch, *, cuda: bool, python: bool) -> list[str]:
    """Return the names of PyTorch's libraries that an extension is linked to, as far as this PyTorch has them."""
    names = ["c10", *(["c10_cuda"] if cuda else []), "torch_cpu", *(["torch_cuda"] if cuda else []), "torch"]
    names += ["torch_python"] if python else []
    return [name for name in names if (torch.lib / f"lib{name}.so").exists() or not name.endswith("_cuda")]


def check_toolkit_version(nvcc: Compiler, torch: Torch) -> str:
    """Compare a CUDA toolkit's version with PyTorch's: return a note if the minor versions differ, or an empty string.

    There is nothing to compare for a PyTorch without CUDA; later steps report what it lacks.

    Raises:
        ToolchainError: the major versions differ: two CUDA runtimes in one process don't share their state.
    """
    torch_version = tuple(int(part) for part in re.findall(r"\d+", torch.cuda or "")[:2])
    if not torch_version or torch_version == nvcc.version[:2]:
        return ""
    toolkit_version = ".".join(map(str, nvcc.version[:2]))
    if torch_version[0] != nvcc.version[0]:
        raise ToolchainError(
            f"{nvcc.path} is CUDA {toolkit_version}'s, but PyTorch {torch.version} in {torch.root} was built with CUDA "
            f"{torch.cuda}: an extension can't mix them\n"
            f"  likely fix: set CUDA_HOME to a toolkit {torch.cuda} (or another {torch_version[0]}.x), or install a "
            f"PyTorch for CUDA {nvcc.version[0]} (pytorch.org says how)"
        )
    return f"CUDA {toolkit_version} ({nvcc.path}), PyTorch has {torch.cuda}: minor versions fit each other"
