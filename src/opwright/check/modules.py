"""Modules, and files that are run as such, once."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from opwright.errors import SourceError

_modules: dict[Path, tuple[int, Any]] = {}
"""Files that were run, and when they had been changed: what a file registers with PyTorch can't be registered twice."""


def own(home: Any) -> list[str]:
    """The callables that a file doesn't just import, by name."""
    public = {name: each for name, each in vars(home).items() if not name.startswith("_")}
    return sorted(n for n, each in public.items() if callable(each) and _home(each) in ("", home.__name__))


def _home(thing: Any) -> str:
    return str(getattr(thing, "__module__", "") or "")


def module(where: str) -> Any:
    """The module of a dotted name, or of a file that ends in .py, which is run again only after a change.

    Raises:
        SourceError: there is none.
    """
    return _run(Path(where).absolute(), where) if where.endswith(".py") else _imported(where)


def _imported(name: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise
        text = f"there is no module {name!r}\n  likely fix: write a file as path/to/file.py:name"
        raise SourceError(text) from None
    finally:
        sys.path.pop(0)


def _run(path: Path, as_written: str) -> Any:
    if not path.exists():
        raise SourceError(f"{as_written}: there is no such file")
    changed = path.stat().st_mtime_ns
    known = _modules.get(path)
    if known and known[0] == changed:
        return known[1]
    name = f"{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"  # random.py is nobody else's `random`
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - of a .py file there is one
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path.remove(str(path.parent))
    _modules[path] = changed, made
    return made
