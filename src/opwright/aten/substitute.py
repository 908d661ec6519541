"""Ours in the place of PyTorch's: for a ``setup.py`` that can't be edited."""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = ("BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline")
_saved: dict[str, Any] = {}


def install() -> None:
    """From now on `torch.utils.cpp_extension` gives Opwright's ``load``, ``BuildExtension`` and so on.

    Raises:
        ModuleNotFoundError: PyTorch isn't installed.
    """
    theirs = importlib.import_module("torch.utils.cpp_extension")
    ours = importlib.import_module("opwright.cpp_extension")
    for name in _NAMES:
        _saved.setdefault(name, getattr(theirs, name))
        setattr(theirs, name, getattr(ours, name))


def uninstall() -> None:
    """PyTorch's own again."""
    theirs = importlib.import_module("torch.utils.cpp_extension")
    while _saved:
        name, value = _saved.popitem()
        setattr(theirs, name, value)
