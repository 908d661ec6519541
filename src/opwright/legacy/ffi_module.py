"""What ``torch.utils.ffi`` is while `opwright.legacy` is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from opwright.legacy.changes import Change, set_attribute
from opwright.legacy.extension import NO_CFFI, create_extension

NAME = "torch.utils.ffi"

__all__ = ["create_extension"]


def __getattr__(name: str) -> Any:
    """``_wrap_function``, which every generated package imports before the module that needs TH: so TH is loaded."""
    if name != "_wrap_function":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opwright.legacy.calls import wrap
    from opwright.legacy.library import load_library

    load_library()
    globals()[name] = wrap
    return wrap


class _Finder:
    """Finds ``torch.utils.ffi`` where there is no cffi: as an ImportError that says so, as it was."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == NAME:
            raise ImportError(f"{NO_CFFI}\n  likely fix: pip install cffi, or opwright[legacy]", name=fullname)
        return None


def _importable() -> Callable[[], None]:
    if importlib.util.find_spec("cffi") is None:
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        return lambda: sys.meta_path.remove(finder)
    import torch.utils

    before = sys.modules.get(NAME)
    sys.modules[NAME] = sys.modules[__name__]
    undo = set_attribute(torch.utils, "ffi", sys.modules[__name__])

    def restore() -> None:
        undo()
        if before is None:
            sys.modules.pop(NAME, None)
        else:
            sys.modules[NAME] = before

    return restore


CHANGES: tuple[Change, ...] = (
    Change(NAME, "can be imported: create_extension, and what the packages it generates need", _importable),
)
