"""Reversible patches: attributes of modules and classes, and actions deferred until an import."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.abc import Loader  # importing it at run time would take longer than the rest of the module


class Change(NamedTuple):
    """A change made by ``install()`` and undone by ``uninstall()``.

    Attributes:
        name: A short identifier, unique among all changes, such as ``"autograd.Function"``.
        does: A one-line description for ``status()``.
        apply: Makes the change, and returns a function that undoes it and restores the previous state, even if
            ``apply`` found something already there. Called at most once before its undo.
    """

    name: str
    does: str
    apply: Callable[[], Callable[[], None]]


def replace(owner: Any, changed: Mapping[str, Any]) -> Callable[[], None]:
    """Set attributes of a class or module; return a function that restores the previous state."""
    before = {name: vars(owner)[name] for name in changed if name in vars(owner)}
    for name, value in changed.items():
        setattr(owner, name, value)

    def undo() -> None:
        for name in changed:
            if name in before:
                setattr(owner, name, before[name])
            else:
                delattr(owner, name)

    return undo


def add(owner: Any, wanted: Mapping[str, Any]) -> Callable[[], None]:
    """Add the attributes that the owner lacks; return a function that removes them."""
    return replace(owner, {name: value for name, value in wanted.items() if not hasattr(owner, name)})


def after_import(name: str, act: Callable[[], None], before: Callable[[], None] | None = None) -> Callable[[], None]:
    """Call ``act`` once after the module ``name`` has been imported; return a function that cancels this.

    Args:
        name: the module.
        act: called after the module's code has run.
        before: called before it runs; what it raises ends the import.
    """
    finder = _Finder(name, act, before)
    sys.meta_path.insert(0, finder)
    return finder.remove


def is_imported(name: str) -> bool:
    """Return whether the module is imported completely."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


class _Finder:
    """An import finder that finds the module with the other finders, and wraps its loader."""

    def __init__(self, name: str, act: Callable[[], None], before: Callable[[], None] | None) -> None:
        self._name = name
        self._act = act
        self.before = before
        self._asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders find, with its loader wrapped."""
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
    """A wrapper of the real loader that runs the action after the module; the module sees only the real loader."""

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
        if self._finder.before:
            self._finder.before()
        self._loader.exec_module(module)
        self._finder.done()
