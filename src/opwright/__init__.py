"""Opwright: write the kernel, get the operator.

``load("my_op.cpp")`` turns C and C++ kernels with a signature into PyTorch operators::

    import opwright

    ops = opwright.load("my_op.cpp")
    z = ops.my_op(x, y)

Importing this package takes almost no time: PyTorch and the compilers are loaded when they are needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opwright._version import __version__
from opwright.errors import (
    ArgumentError,
    CompileError,
    KernelError,
    OpwrightError,
    PackagingError,
    SignatureError,
    SourceError,
    ToolchainError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from opwright.aten.differentiable import differentiable
    from opwright.bench import bench
    from opwright.check import check
    from opwright.cuda.emulation import emulate
    from opwright.frontends import load, load_inline
    from opwright.runtime import Operators, unwatch
    from opwright.runtime.bundle.write import bundle
    from opwright.signature import Signature, parse

_LAZY = {
    "Operators": "opwright.runtime",
    "Signature": "opwright.signature",
    "bundle": "opwright.runtime.bundle.write",
    "differentiable": "opwright.aten.differentiable",
    "emulate": "opwright.cuda.emulation",
    "load": "opwright.frontends",
    "load_inline": "opwright.frontends",
    "load_ipython_extension": "opwright.notebook",  # called by %load_ext
    "parse": "opwright.signature",
    "unload_ipython_extension": "opwright.notebook",
    "unwatch": "opwright.runtime",
}

__all__ = [
    "ArgumentError",
    "CompileError",
    "KernelError",
    "Operators",
    "OpwrightError",
    "PackagingError",
    "Signature",
    "SignatureError",
    "SourceError",
    "ToolchainError",
    "UnsupportedError",
    "__version__",
    "bench",
    "bundle",
    "check",
    "differentiable",
    "emulate",
    "load",
    "load_inline",
    "parse",
    "unwatch",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or a subpackage such as ``opwright.runtime``, when it is first used."""
    if name in ("bench", "check", "runtime"):  # packages; the first two are callable
        return importlib.import_module(f"opwright.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
