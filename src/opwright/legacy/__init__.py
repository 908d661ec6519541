"""The C FFI of PyTorch 0.1 to 0.4: ``create_extension``, ``torch.utils.ffi``, TH and THC, on today's PyTorch.

Nothing here is loaded by ``import opwright``, and importing this loads neither PyTorch nor cffi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.legacy.extension import create_extension
    from opwright.legacy.installing import install, status, uninstall

_LAZY = {
    "create_extension": "opwright.legacy.extension",
    "install": "opwright.legacy.installing",
    "status": "opwright.legacy.installing",
    "uninstall": "opwright.legacy.installing",
}

__all__ = ["create_extension", "install", "status", "uninstall"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names."""
    return __all__
