"""The replacement for ``torch.utils.ffi`` while `opwright.legacy` is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opwright.legacy.ffi import NO_CFFI
from opwright.legacy.patching import Change

if TYPE_CHECKING:
    from opwright.legacy.ffi.create import create_extension

NAME = "torch.utils.ffi"

__all__ = ["create_extension"]


def __getattr__(name: str) -> Any:
    """Import a name that old code expects here, at its first use."""
    if name == "create_extension":
        from opwright.legacy.ffi.create import create_extension

        return create_extension
    if name == "_wrap_function":  # every generated package imports this before its module, which needs TH
        from opwright.legacy.calls import wrap_function
        from opwright.legacy.ffi.package import check_module
        from opwright.legacy.th_library import load_library

        check_module(sys._getframe(1).f_globals)  # noqa: SLF001 - the package's
        load_library()
        return wrap_function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Finder:
    """An import finder for ``torch.utils.ffi`` without cffi: raises an ImportError that explains it, as PyTorch did."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == NAME:
            raise ImportError(NO_CFFI, name=fullname)
        return None


def _importable() -> Callable[[], None]:
    if importlib.util.find_spec("cffi") is None:
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        return lambda: sys.meta_path.remove(finder)
    import torch.utils

    before = sys.modules.get(NAME)
    sys.modules[NAME] = sys.modules[__name__]
    attribute = vars(torch.utils).get("ffi")
    vars(torch.utils)["ffi"] = sys.modules[__name__]

    def restore() -> None:
        """Put back what was there before."""
        if attribute is None:
            vars(torch.utils).pop("ffi", None)
        else:
            vars(torch.utils)["ffi"] = attribute
        if before is None:
            sys.modules.pop(NAME, None)
        else:
            sys.modules[NAME] = before

    return restore


CHANGES: tuple[Change, ...] = (
    Change(NAME, "can be imported: create_extension, and what the packages it generates need", _importable),
)
