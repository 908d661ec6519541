"""The preprocessor's line markers: ``# 12 "kernel.cu" 3`` specifies the file and line number of the next line."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from opwright.sources.cpp.tokens import line_of

_MARKER = re.compile(r'^# (\d+) "((?:[^"\\\n]|\\.)*)"([ \d]*)$\n?', re.MULTILINE)
_DIRECTIVE_LINE = re.compile(r"^#[^\n]*$", re.MULTILINE)
_SYSTEM_HEADER = "3"


class Place(NamedTuple):
    """A line of a file; the file's name is escaped as in a string literal."""

    file: str
    line: int

    @property
    def path(self) -> str:
        """The file's name, unescaped."""
        return re.sub(r"\\(.)", r"\1", self.file)

    @property
    def marker(self) -> str:
        """A line marker (with line breaks around it) that assigns this file and line to the next line."""
        return f'\n# {self.line} "{self.file}"\n'

    def __str__(self) -> str:
        """Format as ``FILE:LINE``, as compilers do."""
        return f"{self.path}:{self.line}"


class LineMarker(NamedTuple):
    """One line marker.

    Attributes:
        start: the offset of its ``#``.
        end: the offset of the next line.
        place: the file and line number of the next line.
        is_system: whether the file is a system header, in one of the compiler's own folders.
    """

    start: int
    end: int
    place: Place
    is_system: bool


def line_markers(text: str) -> Iterator[LineMarker]:
    """Yield all line markers, in order."""
    for match in _MARKER.finditer(text):
        is_system = _SYSTEM_HEADER in match[3].split()
        yield LineMarker(match.start(), match.end(), Place(match[2], int(match[1])), is_system)


class LineMarkers:
    """The line markers of a preprocessed source, to look up the file and line of an offset."""

    def __init__(self, text: str) -> None:
        """Store the text; it is scanned on first use."""
        self._text = text

    @cached_property
    def all(self) -> list[LineMarker]:
        """All markers, in order."""
        return list(line_markers(self._text))

    def place(self, offset: int) -> Place | None:
        """Return the file and line of an offset; None before the first marker."""
        index = bisect.bisect_right(self.all, offset, key=lambda marker: marker.end) - 1
        if index < 0:
            return None
        marker = self.all[index]
        return Place(marker.place.file, marker.place.line + self._text.count("\n", marker.end, offset))


def place_of(text: str, offset: int) -> str:
    """Return the file and line of an offset, as ``kernel.cu:12``; ``line 12`` before the first marker."""
    return str(LineMarkers(text).place(offset) or f"line {line_of(text, offset)}")


def has_line_marker(text: str) -> bool:
    """Return whether preprocessed text contains a line marker or another directive."""
    return bool(_DIRECTIVE_LINE.search(text))


def on_one_line(text: str) -> str:
    """Return preprocessed text on a single line, without directives."""
    return " ".join(_DIRECTIVE_LINE.sub("", text).split("\n"))
