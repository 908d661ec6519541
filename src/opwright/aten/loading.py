"""Built libraries, brought into this process."""

from __future__ import annotations

import functools
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
_NAMESPACES: dict[str, str] = {}
"""The libraries that have registered operators (``TORCH_LIBRARY``) here, by their namespaces."""
_REGISTERING = re.compile(rb"\0_ZL(\d+)(TORCH_LIBRARY_init_\w+)")
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

    _refuse_a_second(name, library)
    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or not isinstance(spec.loader, importlib.abc.Loader):
        raise ImportError(f"{library} is no extension module of this Python", name=name, path=str(library))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise explained(name, library, error) from error
    finally:
        _note_namespaces(library)
    return module


def load_library(name: str, library: Path) -> None:
    """Load a library whose operators register themselves (``TORCH_LIBRARY``).

    Raises:
        ImportError: it can't be loaded; the text says why and what to do.
    """
    import torch

    with _LOCK:
        _refuse_a_second(name, library)
        try:
            torch.ops.load_library(str(library))
        except OSError as error:  # PyTorch's own words hide the loader's
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            raise explained(name, library, cause) from error
        _note_namespaces(library)


def _refuse_a_second(name: str, library: Path) -> None:
    """Refuse a library with a namespace of operators that another one has: PyTorch would end the process.

    Raises:
        ImportError: it is one.
    """
    import torch

    for path in torch.ops.loaded_libraries:  # also those that somebody else has loaded
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
    """The namespaces of operators that a library registers, by the names of the functions that do it."""
    try:
        found = _REGISTERING.findall(library.read_bytes())
    except OSError:
        return ()
    names = [name[: int(length)].decode().removeprefix("TORCH_LIBRARY_init_") for length, name in found]
    return tuple(dict.fromkeys(names))


def explained(name: str, library: Path, error: Exception) -> ImportError:
    """The error to raise for one of the loader's or the importer's."""

    def defined() -> str:
        data = library.read_bytes() if os.path.exists(library) else b""
        return " ".join(found.decode() for found in set(re.findall(rb"\0(PyInit_\w+)(?=\0)", data)))

    said = str(error)
    text = explain.import_problem(name, said, defined, find_torch()) or loading_problem(said) or said
    return ImportError(text, name=name, path=str(library))
