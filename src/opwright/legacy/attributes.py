"""Attributes of an object that are set and, later, as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["add", "replace"]


def replace(owner: Any, changed: Mapping[str, Any]) -> Callable[[], None]:
    """Set attributes of a class or module; returns what puts back its own ones, and takes away those it didn't have."""
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
    """The same, for those that the owner lacks."""
    return replace(owner, {name: value for name, value in wanted.items() if not hasattr(owner, name)})
