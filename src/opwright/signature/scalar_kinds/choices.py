"""Arguments that are one of a few words, ``mode: nearest | bilinear``: an enum in C++, a string in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from opwright.closest_name import closest_name
from opwright.signature.names import C_AND_CPP_KEYWORDS
from opwright.signature.scalars import INT, NOTATION_WORDS, ScalarKind, quoted, read_text

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval


class Choice(ScalarKind):
    """The kind of an argument that is one of a few words: ``nearest | bilinear``; equal for equal words."""

    code = 15
    python_type, schema_type, element_type = str, "str", ""
    members, reader = ("i",), "integer"  # the position of the word
    cpp_types = ()
    c_types = INT.c_types
    c_requirement = "it is an integer: the number of the choice, from 0"
    has_sign = is_ordered = False

    def __init__(self, choices: Sequence[str]) -> None:
        """Make the kind of these words, in their order."""
        self.choices = tuple(choices)
        self.name = " | ".join(map(written, self.choices))
        self.article = f"one of {', '.join(self.choices)}"
        self.example = written(self.choices[0])
        self.refused_value = "no " + " ".join(self.choices)

    def __eq__(self, other: object) -> bool:
        """Return whether `other` has the same words in the same order."""
        return isinstance(other, Choice) and self.choices == other.choices

    def __hash__(self) -> int:
        """Return the hash of the words."""
        return hash(self.choices)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the words."""
        return Choice, (self.choices,)

    @property
    def annotation(self) -> str:
        """See :class:`ScalarKind`."""
        return f"_typing.Literal[{', '.join(map(quoted, self.choices))}]"

    @property
    def enumerators(self) -> tuple[str, ...]:
        """The names of the words in C++; see `enumerator`."""
        return tuple(map(enumerator, self.choices))

    def parse(self, word: str) -> str | None:
        """See :class:`ScalarKind`."""
        plain = word[1:-1] if word.startswith("'") else word
        return plain if plain in self.choices else None

    def format(self, value: str) -> str:
        """See :class:`ScalarKind`."""
        return written(value)

    def literal(self, value: str) -> str:
        """See :class:`ScalarKind`."""
        return quoted(value)

    def misfit(self, value: str) -> str:
        """See :class:`ScalarKind`."""
        if value in self.choices:
            return ""
        similar = closest_name(value, self.choices)
        guess = f"; did you mean {similar!r}?" if similar else ""
        return f"{value!r}, expected {' or '.join(map(repr, self.choices))}{guess}"

    def pack(self, value: str) -> tuple[int, ...]:
        """See :class:`ScalarKind`."""
        return (self.choices.index(value),)

    def unpack(self, words: Iterator[int]) -> str:
        """See :class:`ScalarKind`."""
        place = next(words)
        return str(self.choices[place]) if place >= 0 else read_text(words)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> str:  # noqa: ARG002 - it has none
        """See :class:`ScalarKind`."""
        return str(rng.choice(self.choices))

    def ordinary(self, position: float, interval: Interval | None = None) -> str:  # noqa: ARG002 - all alike
        """See :class:`ScalarKind`."""
        return str(self.choices[0])


def enumerator(choice: str) -> str:
    """Return the name of a choice in C++: what no name can have becomes an underscore, and a keyword gets one."""
    name = re.sub(r"\W", "_", choice, flags=re.ASCII)
    return f"_{name}" if name[0].isdigit() else f"{name}_" if name in C_AND_CPP_KEYWORDS else name


def written(choice: str) -> str:
    """Return a choice in the notation: in quotes, unless it is a name that the notation has no other use for."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", choice, re.ASCII) and choice not in NOTATION_WORDS
    return choice if plain else f"'{choice}'"
