"""Opwright: write the kernel, get the operator.

``load("my_op.cpp")`` turns C and C++ kernels with a signature into PyTorch operators::

    import opwright

    ops = opwright.load("my_op.cpp")
    z = ops.my_op(x, y)

Importing this costs next to nothing: PyTorch and the compilers come in when they are needed.
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
    from opwright.runtime import Operators, load, unwatch
    from opwright.runtime.bundle import bundle
    from opwright.runtime.inline import load_inline
    from opwright.signature import Signature, parse

_LAZY = {
    "Operators": "opwright.runtime",
    "Signature": "opwright.signature",
    "bundle": "opwright.runtime.bundle",
    "differentiable": "opwright.aten.differentiable",
    "emulate": "opwright.cuda.emulation",
    "load": "opwright.front",
    "load_inline": "opwright.front",
    "load_ipython_extension": "opwright.notebook",  # what %load_ext looks for
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
    """Import a public name when it is first used; ``opwright.runtime`` is a module."""
    if name in ("bench", "check", "runtime"):  # packages; the first two can be called
        return importlib.import_module(f"opwright.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names."""
    return __all__
