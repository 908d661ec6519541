"""A replacement for `torch.utils.cpp_extension`, with the same names, arguments and results.

The only change in an extension is its import: ``from opwright.cpp_extension import load`` (or ``BuildExtension,
CppExtension``).
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.aten.jit import load, load_inline
    from opwright.aten.pytorch import include_paths, library_paths
    from opwright.aten.setuptools_ext import BuildExtension, CppExtension, CUDAExtension

    CUDA_HOME: str | None

_LAZY = {
    "BuildExtension": "opwright.aten.setuptools_ext",
    "CUDAExtension": "opwright.aten.setuptools_ext",
    "CppExtension": "opwright.aten.setuptools_ext",
    "include_paths": "opwright.aten.pytorch",
    "library_paths": "opwright.aten.pytorch",
    "load": "opwright.aten.jit",
    "load_inline": "opwright.aten.jit",
}

_SUBSTITUTED = ("BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline")
_originals: dict[str, Any] = {}

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used; ``CUDA_HOME`` is looked up at each use."""
    if name == "CUDA_HOME":
        from opwright.toolchain.compilers.nvcc import cuda_home

        return cuda_home()
    return _ours(name) if name in _LAZY else _pytorch_attribute(name)


def _ours(name: str) -> Any:
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def _pytorch_attribute(name: str) -> Any:
    """Return an attribute that only PyTorch's module has, such as ``is_ninja_available``, for a ``setup.py``."""
    if not name.startswith("__"):  # the import system looks these up on each import
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module("torch.utils.cpp_extension"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


def substitute() -> None:
    """Replace ``load``, ``BuildExtension`` and so on in `torch.utils.cpp_extension`, for unedited scripts.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
    """
    theirs = importlib.import_module("torch.utils.cpp_extension")
    for name in _SUBSTITUTED:
        _originals.setdefault(name, getattr(theirs, name))
        setattr(theirs, name, _ours(name))


def restore() -> None:
    """Undo `substitute`."""
    theirs = importlib.import_module("torch.utils.cpp_extension")
    while _originals:
        name, value = _originals.popitem()
        setattr(theirs, name, value)
