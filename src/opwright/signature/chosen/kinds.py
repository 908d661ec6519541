"""Kinds of arguments that choose: ``dim: axis(D)`` says which axis of a tensor D is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opwright.signature.scalars import INT, ScalarKind

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval

AXIS_CODE = 21
"""The number of `AxisKind` in the native runtime's plans."""


class AxisKind(ScalarKind):
    """The kind of an argument that says which axis of its tensors ``D`` is, counted from the last if it is negative.

    Equal for equal axes. In PyTorch's schema it is an ``int``, not a ``SymInt``: it decides on ranks.
    """

    article, code = "an int", AXIS_CODE
    python_type, schema_type, example, element_type = int, "int", "-1", ""
    members, reader = ("i",), "integer"
    cpp_types, c_types = INT.cpp_types, INT.c_types
    c_requirement = INT.c_requirement
    is_ordered = False
    is_whole = True

    def __init__(self, axis: str) -> None:
        """Make the kind of arguments that say which axis `axis` is."""
        self.axis, self.name = axis, f"axis({axis})"

    def __eq__(self, other: object) -> bool:
        """Return whether `other` says it of an axis with the same name."""
        return isinstance(other, AxisKind) and self.axis == other.axis

    def __hash__(self) -> int:
        """Return the hash of the notation."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the axis."""
        return AxisKind, (self.axis,)

    def parse(self, word: str) -> int | None:
        """See :class:`ScalarKind`."""
        return INT.parse(word)

    def range_error(self, value: int) -> str:
        """See :class:`ScalarKind`."""
        return INT.range_error(value)

    def unpack(self, words: Iterator[int]) -> int:
        """See :class:`ScalarKind`."""
        return next(words)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> int:  # noqa: ARG002 - it has none
        """See :class:`ScalarKind`; whichever axis it is, there is a last one."""
        return -1

    def ordinary(self, position: float, interval: Interval | None = None) -> int:  # noqa: ARG002 - all alike
        """See :class:`ScalarKind`."""
        return -1
