"""The PyTorch that is installed: found without importing it, since a ``setup.py`` needs no more than its folders."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain import nvcc

OLDEST = (2, 10)
"""Of the PyTorch that Opwright works with."""

_VALUE = re.compile(r"^(__version__|cuda|git_version|hip)\b[^=\n]*= *(?:'([^'\n]*)'|None)", re.MULTILINE)


class Torch(NamedTuple):
    """An installed PyTorch.

    Attributes:
        root: its package's folder.
        version: such as ``2.13.0+cpu``.
        cuda: the CUDA that it was built with, such as ``13.0``; None where it was built without.
        identity: changes whenever it does; part of every cache key.
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
        """The folders of its headers."""
        include = self.root / "include"
        return [str(include), str(include / "torch" / "csrc" / "api" / "include")]


def find_torch() -> Torch:
    """The PyTorch that ``import torch`` would give.

    Raises:
        ModuleNotFoundError: none is installed.
        ToolchainError: it is too old, or has no headers.
    """
    loaded = sys.modules.get("torch")
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        spec = importlib.util.find_spec("torch")
        origin = spec.origin if spec else None
    if origin is None:
        raise ModuleNotFoundError(
            "building an ATen extension needs PyTorch 2.10 or newer, and none is installed for "
            f"{sys.executable}\n  likely fix: pip install opwright[torch]; and where pip builds the extension: "
            "pip install --no-build-isolation",
            name="torch",
        )
    return _described(os.path.dirname(os.path.abspath(origin)))


@functools.lru_cache
def _described(folder: str) -> Torch:
    root = Path(folder)
    said = dict(_VALUE.findall(_version_file(root)))
    version = said.get("__version__", "")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers and numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ToolchainError(
            f"PyTorch {version} in {root} is too old, expected {oldest} or newer\n"
            f'  likely fix: pip install "torch>={oldest}"'
        )
    if not (root / "include" / "torch" / "extension.h").is_file():
        raise ToolchainError(
            f"the PyTorch in {root} has no headers: {root / 'include/torch/extension.h'} isn't there\n"
            "  likely fix: pip install --force-reinstall torch (a build from source needs its install step)"
        )
    stamps = [root / "version.py", root / "include/torch/extension.h", *sorted((root / "lib").glob("libtorch_*.so"))]
    facts = [(path.name, found.st_size, int(found.st_mtime)) for path in stamps for found in [path.stat()]]
    identity = f"torch {version} {said.get('git_version', '')} {root} {facts}"
    return Torch(root, version, said.get("cuda") or None, identity)


def _version_file(root: Path) -> str:
    try:
        return (root / "version.py").read_text("utf-8", "replace")
    except OSError as error:
        raise ToolchainError(
            f"the PyTorch in {root} isn't whole: {root / 'version.py'}: {error.strerror or error}\n"
            "  likely fix: pip install --force-reinstall torch"
        ) from error


def python_include() -> str:
    """The folder of ``Python.h``.

    Raises:
        ToolchainError: it isn't there.
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
    """The folder of ``Python.h``, or nothing: a program can do without."""
    try:
        return python_include()
    except ToolchainError:
        return ""


def cuda_home() -> str:
    """The CUDA toolkit's folder.

    Raises:
        ToolchainError: there is none; the text says where it was looked for.
    """
    home = nvcc.cuda_home()
    if home is None or not os.path.isdir(home):
        return os.path.dirname(os.path.dirname(nvcc.find_nvcc().path))
    return home


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of the headers that an extension needs: PyTorch's, and for ``"cuda"`` the toolkit's.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
        ToolchainError: PyTorch's headers, or the CUDA toolkit, aren't there.
    """
    paths = find_torch().include_dirs if torch_include_dirs else []
    if device_type == "cuda":
        paths += nvcc.include_dirs(cuda_home())
        if (more := os.environ.get("CUDA_INC_PATH")) and more != "/usr/include":
            paths.append(more)
        if cudnn := _cudnn_home():
            paths.append(os.path.join(cudnn, "include"))
    return paths


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of the libraries that an extension is linked with.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
        ToolchainError: the CUDA toolkit isn't there.
    """
    paths = [str(find_torch().lib)] if torch_include_dirs else []
    if device_type == "cuda":
        paths.append(nvcc.library_dir(cuda_home()))
        if cudnn := _cudnn_home():
            paths.append(os.path.join(cudnn, "lib64"))
    return paths


def _cudnn_home() -> str | None:
    return os.environ.get("CUDNN_HOME") or os.environ.get("CUDNN_PATH")


def libraries(torch: Torch, *, cuda: bool, python: bool) -> list[str]:
    """The names of PyTorch's libraries that an extension is linked with, those that this PyTorch has."""
    wanted = ["c10", *(["c10_cuda"] if cuda else []), "torch_cpu", *(["torch_cuda"] if cuda else []), "torch"]
    wanted += ["torch_python"] if python else []
    return [name for name in wanted if (torch.lib / f"lib{name}.so").exists() or not name.endswith("_cuda")]
