"""Built libraries, brought into this process."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import re
import threading
from pathlib import Path
from types import ModuleType

from opwright.aten import explain
from opwright.aten.installed import find_torch
from opwright.toolchain.diagnostics import loading_problem

_MODULES: dict[tuple[str, str], ModuleType] = {}
_LOCK = threading.RLock()


def _renew() -> None:
    """In a forked child: its parent's threads, which may have held the lock, aren't there."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def import_module(name: str, library: Path) -> ModuleType:
    """The module `name` that the library defines; the same one for the same library.

    Raises:
        ImportError: it can't be loaded, or defines no such module; the text says why and what to do.
    """
    with _LOCK:
        key = name, str(library)
        if key not in _MODULES:
            _MODULES[key] = _imported(name, library)
        return _MODULES[key]


def _imported(name: str, library: Path) -> ModuleType:
    import torch  # noqa: F401 - its libraries must be there

    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or not isinstance(spec.loader, importlib.abc.Loader):
        raise ImportError(f"{library} is no extension module of this Python", name=name, path=str(library))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise explained(name, library, error) from error
    return module


def load_library(name: str, library: Path) -> None:
    """Load a library whose operators register themselves (``TORCH_LIBRARY``).

    Raises:
        ImportError: it can't be loaded; the text says why and what to do.
    """
    import torch

    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise explained(name, library, error) from error


def explained(name: str, library: Path, error: Exception) -> ImportError:
    """The error to raise for one of the loader's or the importer's."""

    def defined() -> str:
        data = library.read_bytes() if os.path.exists(library) else b""
        return " ".join(found.decode() for found in set(re.findall(rb"\0(PyInit_\w+)(?=\0)", data)))

    said = str(error)
    text = explain.import_problem(name, said, defined, find_torch()) or loading_problem(said) or said
    return ImportError(text, name=name, path=str(library))
