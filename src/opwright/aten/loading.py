"""Loads built extension libraries into this process."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import re
import threading
from pathlib import Path
from types import ModuleType

from opwright.aten import error_hints
from opwright.aten.pytorch import find_torch
from opwright.toolchain.messages.loaders import loading_problem

_MODULES: dict[tuple[str, str], ModuleType] = {}
_NAMESPACES: dict[str, str] = {}
"""The libraries that have registered operators (``TORCH_LIBRARY``) in this process, by namespace."""
_REGISTERING = re.compile(rb"\0_ZL(\d+)(TORCH_LIBRARY_init_\w+)")
_LOCK = threading.RLock()


def _renew() -> None:
    """Replace the lock in a forked child, where the parent's thread that may have held it doesn't exist."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def import_module(name: str, library: Path) -> ModuleType:
    """Import the module `name` that the library defines; return the same module for the same library.

    Raises:
        ImportError: the library can't be loaded, or defines no such module; the text has the cause and the fix.
    """
    with _LOCK:
        key = name, str(library)
        if key not in _MODULES:
            _MODULES[key] = _imported(name, library)
        return _MODULES[key]


def _imported(name: str, library: Path) -> ModuleType:
    import torch  # noqa: F401 - loads its libraries

    _refuse_a_second(name, library)
    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or not isinstance(spec.loader, importlib.abc.Loader):
        raise ImportError(f"{library} is no extension module of this Python", name=name, path=str(library))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise loading_error(name, library, error) from error
    finally:
        _note_namespaces(library)
    return module


def load_library(name: str, library: Path) -> None:
    """Load a library whose operators register themselves (``TORCH_LIBRARY``).

    Raises:
        ImportError: the library can't be loaded; the text has the cause and the fix.
    """
    import torch

    with _LOCK:
        _refuse_a_second(name, library)
        try:
            torch.ops.load_library(str(library))
        except OSError as error:  # PyTorch's message hides the loader's
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            raise loading_error(name, library, cause) from error
        _note_namespaces(library)


def _refuse_a_second(name: str, library: Path) -> None:
    """Raise if another library has the same operator namespace, since PyTorch would end the process.

    Raises:
        ImportError: the namespace is taken.
    """
    import torch

    for path in torch.ops.loaded_libraries:  # including libraries that other code has loaded
        _note_namespaces(Path(path))
    for namespace in _namespaces(library):
        other = _NAMESPACES.get(namespace, str(library))
        if os.path.realpath(other) != os.path.realpath(library):
            raise ImportError(
                f"{name} registers the operators of {namespace} (TORCH_LIBRARY), which {other} has done in this "
                "process; PyTorch takes them from one library alone\n"
                "  likely fix: load an edited source in a new process; for more operators in a namespace of another "
                "library, write TORCH_LIBRARY_FRAGMENT",
                name=name,
                path=str(library),
            )


def _note_namespaces(library: Path) -> None:
    for namespace in _namespaces(library):
        _NAMESPACES.setdefault(namespace, str(library))


@functools.lru_cache(maxsize=256)
def _namespaces(library: Path) -> tuple[str, ...]:
    """Return the operator namespaces that a library registers, found by the names of its registration functions."""
    try:
        matches = _REGISTERING.findall(library.read_bytes())
    except OSError:
        return ()
    names = [name[: int(length)].decode().removeprefix("TORCH_LIBRARY_init_") for length, name in matches]
    return tuple(dict.fromkeys(names))


def loading_error(name: str, library: Path, error: Exception) -> ImportError:
    """Return the error to raise for an error of the loader or the import."""

    def defined() -> str:
        data = library.read_bytes() if os.path.exists(library) else b""
        return " ".join(symbol.decode() for symbol in set(re.findall(rb"\0(PyInit_\w+)(?=\0)", data)))

    message = str(error)
    text = error_hints.import_problem(name, message, defined, find_torch()) or loading_problem(message) or message
    return ImportError(text, name=name, path=str(library))
