"""`torch.utils.cpp_extension`, built by Opwright: the same names, arguments and results.

``from opwright.cpp_extension import load`` (or ``BuildExtension, CppExtension``) is all that an extension changes.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.aten.installed import include_paths, library_paths
    from opwright.aten.jit import load, load_inline
    from opwright.aten.setuptools_ext import BuildExtension, CppExtension, CUDAExtension

    CUDA_HOME: str | None

_LAZY = {
    "BuildExtension": "opwright.aten.setuptools_ext",
    "CUDAExtension": "opwright.aten.setuptools_ext",
    "CppExtension": "opwright.aten.setuptools_ext",
    "include_paths": "opwright.aten.installed",
    "library_paths": "opwright.aten.installed",
    "load": "opwright.aten.jit",
    "load_inline": "opwright.aten.jit",
}

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
    """Import a name when it is first used; ``CUDA_HOME`` is looked for each time."""
    if name == "CUDA_HOME":
        from opwright.toolchain.nvcc import cuda_home

        return cuda_home()
    if name not in _LAZY:
        return _of_pytorch(name)
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def _of_pytorch(name: str) -> Any:
    """What only PyTorch's own module has: a ``setup.py`` may ask it for ``ROCM_HOME`` or ``is_ninja_available``."""
    if not name.startswith("__"):  # these are asked for by the import system, on each import
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module("torch.utils.cpp_extension"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return __all__
