"""Preprocessed text, cut where its line markers say that a file of another kind begins."""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from opwright.sources.tokens import Tokens
from opwright.toolchain import header_dir

Kind = Literal["user", "ours", "system"]
_MARKER = re.compile(r'^# (\d+) "((?:[^"\\\n]|\\.)*)"((?: \d)*)[^\n]*\n?', re.MULTILINE)
_SYSTEM = " 3"
"""The flag of a file in one of the compiler's own folders."""


class Place(NamedTuple):
    """A line of a file, as markers and messages write them; the name is escaped as in a string literal."""

    file: str
    line: int

    @property
    def marker(self) -> str:
        """The line marker that says so of the next line."""
        return f'\n# {self.line} "{self.file}"\n'

    def __str__(self) -> str:
        """As compilers write it."""
        name = re.sub(r"\\(.)", r"\1", self.file)
        return f"{name}:{self.line}"


class Region:
    """A part of the text that comes from files of one kind.

    Attributes:
        kind: ``user``: the author's, ``ours``: Opwright's headers, ``system``: an installed package's.
        text: with the markers in it.
    """

    def __init__(self, kind: Kind, text: str) -> None:
        """Nothing is looked at before it is asked for."""
        self.kind = kind
        self.text = text
        self.tokens = Tokens(text)

    @cached_property
    def _markers(self) -> list[tuple[int, str, int]]:
        return [(match.end(), match[2], int(match[1])) for match in _MARKER.finditer(self.text)]

    def places(self) -> Iterator[Place]:
        """Where it has text of which file."""
        return (Place(file, line) for _, file, line in self._markers)

    def place(self, offset: int) -> Place:
        """The file and the line of what stands at `offset`."""
        found = bisect.bisect_right(self._markers, offset, key=lambda marker: marker[0])
        if not found:
            return Place("?", self.text.count("\n", 0, offset) + 1)
        behind, file, line = self._markers[found - 1]
        return Place(file, line + self.text.count("\n", behind, offset))


def regions(text: str) -> Iterator[Region]:
    """The parts of what the preprocessor wrote, in order; together they are `text`."""
    kinds: dict[str, Kind] = {}
    kind: Kind = "user"
    start = 0
    for marker in _MARKER.finditer(text):
        found = kinds.setdefault(marker[2], _kind(marker[2], marker[3]))
        if found != kind:
            if marker.start() > start:
                yield Region(kind, text[start : marker.start()])
            kind, start = found, marker.start()
    yield Region(kind, text[start:])


def _kind(file: str, flags: str) -> Kind:
    """What `file` is, by the first marker that names it; later ones also say "system" where only a macro is one's."""
    if file.startswith(os.path.join(str(header_dir()), "")):
        return "ours"
    return "system" if _SYSTEM in flags or file.startswith("<") else "user"
