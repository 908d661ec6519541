"""Compiled modules that come with a repository: one for Python 2 or another system can't be imported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SUFFIXES = (".so", ".abi3.so")


def check_module(package: Mapping[str, Any]) -> None:
    """Check that the module in a generated package is one for Python 3, if it is there at all.

    Args:
        package: the global names of the package, which is being imported.

    Raises:
        ImportError: the module is for Python 2, or for another system; the text says to build again.
    """
    if "__path__" not in package or not package.get("__file__"):
        return  # no generated package
    folder = os.path.dirname(str(package["__file__"]))
    leaf = f"_{os.path.basename(folder)}"
    path = next((path for suffix in _SUFFIXES if os.path.isfile(path := os.path.join(folder, leaf + suffix))), None)
    if path is None:
        return
    data = Path(path).read_bytes()
    if f"PyInit_{leaf}".encode() in data:
        return
    what = "for Python 2" if f"init{leaf}".encode() in data else "no extension module of this system"
    raise ImportError(
        f"{path} is {what}: it was built elsewhere, and came with the repository\n"
        "  likely fix: run the build script again: opwright run build.py",
        name=f"{package.get('__name__')}.{leaf}",
        path=path,
    )
