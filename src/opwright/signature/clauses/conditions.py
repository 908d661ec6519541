"""Conditions of optional results: ``if all``, ``if not bias``, ``if mode == nearest``."""

from __future__ import annotations

from typing import Any

from opwright.record import record
from opwright.signature.scalar_kinds.choices import written


@record
class Condition:
    """When a result is returned: by a bool, an optional argument that is given, or one of a choice's words.

    Attributes:
        name: the argument's name.
        negated: whether the result is returned where the rest doesn't hold.
        word: the word of a choice; None for other arguments.
    """

    name: str
    negated: bool = False
    word: str | None = None

    def holds(self, value: Any) -> bool:
        """Return whether the result is returned if the argument has this value; an absent argument is None."""
        met = value is not None and value is not False if self.word is None else value == self.word
        return met is not self.negated

    def __str__(self) -> str:
        """Return the notation."""
        equals = "" if self.word is None else f" == {written(self.word)}"
        return f"if {'not ' * self.negated}{self.name}{equals}"
