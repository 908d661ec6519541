"""Columns of a compiler's messages on rewritten text, as columns of the author's lines.

A unit may be rewritten between preprocessor and compiler (CUDA's launches, macros that have been expanded). The
compiler's lines are the author's then, its columns those of the rewritten text, while the line that it shows is read
from the author's file, so that its mark is under another word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+):(?P<rest>\s.*)")
_SHOWN = re.compile(r"\s*\d+ \| (?P<text>.*)")
_BELOW = re.compile(r"\s*\| ")
_WORD = re.compile(r"\w+|\S")

Lines = dict[tuple[str, int], list[str]]


def lines_of(rewritten: str) -> Lines:
    """Return the lines of preprocessed text by file and line; those of headers with the same line are several."""
    found: Lines = defaultdict(list)
    file, number = "", 0
    for line in rewritten.split("\n"):
        if marker := _MARKER.match(line):
            file, number = marker[2], int(marker[1])
            continue
        if line.strip():
            found[file, number].append(line)
        number += 1
    return found


def realigned(log: str, rewritten: Mapping[tuple[str, int], list[str]]) -> str:
    """Return a compiler's output with the columns of the author's lines.

    A column that can't be told is left out, and so is the mark below the line. Without the line, none can be.
    """
    return "\n".join(_realigned(log.split("\n"), rewritten))


def _realigned(log: list[str], rewritten: Mapping[tuple[str, int], list[str]]) -> Iterator[str]:
    index = 0
    while index < len(log):
        line = log[index]
        index += 1
        place = _PLACE.fullmatch(line)
        shown = _SHOWN.fullmatch(log[index]) if place and index < len(log) else None
        compiled = rewritten.get((place["file"], int(place["line"]))) if place else None
        if not (place and compiled):
            yield line
            continue
        if not shown:
            yield f"{place['file']}:{place['line']}:{place['rest']}"
            continue
        end = index + 1
        while end < len(log) and _BELOW.match(log[end]):
            end += 1
        column = _column(int(place["column"]), shown["text"], compiled)
        if column == int(place["column"]):
            yield from (line, *log[index:end])
        else:
            yield f"{place['file']}:{place['line']}:{f'{column}:' if column else ''}{place['rest']}"
            yield log[index]
            if column:
                yield "      | " + re.sub(r"[^\t]", " ", shown["text"][: column - 1]) + "^"
        index = end


def _column(column: int, shown: str, compiled: list[str]) -> int:
    """Return the column in the author's line of the word at `column` of the text compiled for it; 0 if unknown."""
    words = {found[0] for line in compiled if (found := _WORD.match(line, column - 1))}
    if len(words) != 1:
        return 0
    [word] = words
    if any(line[:column] == shown[:column] for line in compiled):
        return column
    bounds = [found.start() for found in _WORD.finditer(shown) if found[0] == word]
    return bounds[0] + 1 if len(bounds) == 1 else 0
