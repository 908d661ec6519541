"""The C FFI of PyTorch 0.1 to 0.4 on today's PyTorch: ``create_extension``, ``torch.utils.ffi``, TH and THC.

``import opwright`` loads none of these modules, and importing this package loads neither PyTorch nor cffi.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opwright.legacy.ffi.create import create_extension
    from opwright.legacy.installation import install, status, uninstall

_LAZY = {
    "create_extension": "opwright.legacy.ffi.create",
    "install": "opwright.legacy.installation",
    "status": "opwright.legacy.installation",
    "uninstall": "opwright.legacy.installation",
}

__all__ = ["create_extension", "install", "status", "uninstall"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
