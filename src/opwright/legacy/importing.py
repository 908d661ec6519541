"""Something to do as soon as a module has been imported, without importing it.

Interpreters start with this: nothing here may import ``importlib.abc``, which takes longer than all the rest.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader


def after_import(name: str, act: Callable[[], None]) -> Callable[[], None]:
    """Call ``act`` once when the module ``name`` has been imported; what is returned calls it off."""
    finder = _Finder(name, act)
    sys.meta_path.insert(0, finder)
    return finder.remove


def is_imported(name: str) -> bool:
    """Whether the module is there, whole."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


class _Finder:
    """Lets the other finders find the module, and stands between it and its loader."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = act
        self._asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            wrapped: Any = _Loader(spec.loader, self)
            spec.loader = wrapped
        return spec

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def done(self) -> None:
        self.remove()
        self._act()


class _Loader:
    """The real loader in all but that something is done afterwards; the module never knows."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.done()
