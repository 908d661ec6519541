"""One reversible change of the interpreter or of PyTorch, as ``opwright.legacy.status()`` lists it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Change"]


class Change(NamedTuple):
    """Something that ``install()`` does and ``uninstall()`` undoes.

    Attributes:
        name: A short identifier, unique among all changes, such as ``"autograd.Function"``.
        does: What it changes, in one line, for ``status()``.
        apply: Makes the change, and returns the function that takes it back. Everything is as before after that,
            also where ``apply`` found something already there. Called at most once before its undo.
    """

    name: str
    does: str
    apply: Callable[[], Callable[[], None]]
