"""The only package that depends on PyTorch: registers operators, checks and runs their calls, differentiates them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opwright._version import OLDEST_PYTORCH

try:
    import torch as _torch  # noqa: F401 - imported here, so that the error names the package to install
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Opwright needs PyTorch {OLDEST_PYTORCH} or newer to load operators, and none is installed. "
        "Install it with `pip install opwright[torch]`, or choose a build on pytorch.org.",
        name=error.name,
    ) from error

if TYPE_CHECKING:
    from opwright.runtime.load.loading import unwatch
    from opwright.runtime.load.namespace import Operators

_LAZY = {"Operators": "opwright.runtime.load.namespace", "unwatch": "opwright.runtime.load.loading"}
"""Public names, imported lazily: legacy front ends need only parts of this package, not the registration."""

__all__ = ["Operators", "name", "unwatch"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def name() -> str:
    """Return the name of the runtime that this process uses: ``native`` or ``python``.

    Raises:
        ToolchainError: the runtime that OPWRIGHT_RUNTIME requests can't be built or loaded.
    """
    from opwright.runtime.register.kernels import started_runtime

    return started_runtime().name
