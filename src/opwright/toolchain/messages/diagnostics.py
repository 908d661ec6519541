"""Diagnostics: a compiler's output split into its messages, and the user's line that led to each.

The error may be in one of our headers (a wrongly used template), in the generated code or in the standard library.
Users can only change the line of their own code that led to it. gcc prints that line before the error ("required
from"), clang after it ("requested here").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LINE_LENGTH = 1000

_AT = r"^(?P<file>\S.*?):(?P<line>\d+):(?:(?P<column>\d+):)?\s+"
_DIAGNOSTIC = re.compile(_AT + r"(?P<kind>(?:fatal |internal compiler )?error|warning|note): (?P<text>.*)$")
_REQUIRED = re.compile(_AT + r".*(?:required (?:from|by)|expansion of|inlined from)")
_WITHIN = re.compile(r"^\S.*: (?:In |At )")
_INCLUDED = re.compile(r"^(?:In file included from|\s+from) (?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?[:,]$")
_LED_HERE = re.compile(
    r"requested here|in expansion of macro|expanded from|required (?:from|by)|while substituting|called from"
)
_FROM_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?(?P<kind>error|warning|note)(?: #[\w-]+)?: ",
    re.MULTILINE,
)
_INSTANTIATED = re.compile(r'^\s.*\bat line (?P<line>\d+) of "?(?P<file>[^"]+)"?$')
_COUNTED = re.compile(r"^\d+ errors? detected in the compilation of .*\n?", re.MULTILINE)


class Place(NamedTuple):
    """A position in a file; the column is 0 if it isn't known."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return the position as compilers write it."""
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


class Diagnostic(NamedTuple):
    """One compiler message with all lines that belong to it, as printed."""

    kind: str
    place: Place
    text: str
    lines: list[str]


def user_place(error: Diagnostic, is_user: Callable[[str], bool]) -> Place | None:
    """Return the place in the user's code that has the error or led to it; None if the error names no user file."""
    if is_user(error.place.file):
        return error.place
    ways = [*_places(error.lines, _REQUIRED), *_places(error.lines, _INSTANTIATED)]
    places = [*ways, *_noted_places(error.lines), *_including_places(error.lines)]
    return next((place for place in places if is_user(place.file)), None)


def readable(output: str) -> str:
    """Return a compiler's output in the form that `split` reads: nvcc's in gcc's, very long lines cut off.

    Long lines would fill the screen, and regular expressions are slow on them.
    """
    text = _COUNTED.sub("", _FROM_NVCC.sub(r"\g<file>:\g<line>: \g<kind>: ", output))
    lines = text.split("\n")
    return "\n".join(line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]}..." for line in lines)


def context(error: Diagnostic) -> list[str]:
    """Return the lines of an error after the one that states it."""
    stated = (_DIAGNOSTIC.match(line) for line in error.lines)
    return error.lines[next(i for i, found in enumerate(stated) if found and found["kind"] == error.kind) + 1 :]


def note(line: str) -> str | None:
    """Return the text of a compiler's note; None if the line is none."""
    found = _DIAGNOSTIC.match(line)
    return found["text"] if found and found["kind"] == "note" else None


def split(text: str) -> list[Diagnostic]:
    """Split a compiler's output into messages, each with its context lines before and after."""
    diagnostics: list[Diagnostic] = []
    pending: list[str] = []
    open_block: list[str] | None = None
    for line in text.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match and match["kind"] != "note":
            open_block = [*pending, line]
            pending = []
            diagnostics.append(Diagnostic(match["kind"], _place(match), match["text"], open_block))
        elif match and diagnostics:
            open_block = diagnostics[-1].lines
            open_block += [*pending, line]
            pending = []
        elif open_block is None or _INCLUDED.match(line) or _WITHIN.match(line) or _REQUIRED.match(line):
            open_block = None
            pending.append(line)
        else:
            open_block.append(line)
    return diagnostics


def _place(match: re.Match[str]) -> Place:
    return Place(match["file"], int(match["line"]), int(match.groupdict().get("column") or 0))


def _places(lines: Iterable[str], pattern: re.Pattern[str]) -> list[Place]:
    return [_place(match) for line in lines if (match := pattern.match(line))]


def _noted_places(lines: Iterable[str]) -> list[Place]:
    """Return the places in notes that led to the error (instantiations, macros, calls), innermost first."""
    matches = (_DIAGNOSTIC.match(line) for line in lines)
    return [_place(match) for match in matches if match and match["kind"] == "note" and _LED_HERE.search(match["text"])]


def _including_places(lines: list[str]) -> list[Place]:
    """Return the places that include the file with the error, innermost first (clang prints them outermost first)."""
    places = _places(lines, _INCLUDED)
    from_gcc = any(line.startswith(" ") and _INCLUDED.match(line) for line in lines)
    return places if from_gcc else places[::-1]
