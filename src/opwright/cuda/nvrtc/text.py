"""Preprocessed text: which file and line a place is of, and changes that keep every line where it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Edit", "edited", "only_files_with", "place"]

_MARKER = re.compile(r'^# (?P<line>\d+) "(?P<file>(?:[^"\\]|\\.)*)"(?P<flags>[ \d]*)$', re.MULTILINE)
_KEPT = re.compile(r"^#[^\n]*$|\n", re.MULTILINE)


class Edit(NamedTuple):
    """What stands from `start` to `end` gives way to `text`; its line breaks and line markers stay."""

    start: int
    end: int
    text: str = ""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with all of the changes; of two that overlap, the one that begins first counts."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.start, -each.end)):
        if edit.start < at:
            continue
        pieces += [text[at : edit.start], edit.text, "".join(_KEPT.findall(text[edit.start : edit.end]))]
        at = edit.end
    return "".join([*pieces, text[at:]])


def place(text: str, offset: int) -> str:
    """The file and line of an offset, as ``kernel.cu:12``."""
    marker = max(_MARKER.finditer(text, 0, offset), key=lambda found: found.start(), default=None)
    if marker is None:
        return f"line {text.count(chr(10), 0, offset) + 1}"
    line = int(marker["line"]) + text.count("\n", marker.end() + 1, offset)
    file = re.sub(r"\\(.)", r"\1", marker["file"])
    return f"{file}:{line}"


def only_files_with(text: str, pattern: re.Pattern[str]) -> str:
    """The text with blanks for what files hold in which `pattern` isn't found, and for system headers.

    Every other character is where it was. A file goes or stays as a whole, so that its braces still match.
    """
    markers = list(_MARKER.finditer(text))
    ends = [*(marker.start() for marker in markers[1:]), len(text)]
    kept = {
        marker["file"]
        for marker, end in zip(markers, ends, strict=True)
        if "3" not in marker["flags"].split() and pattern.search(text, marker.end(), end)
    }
    pieces, at = [], 0
    for marker, end in zip(markers, ends, strict=True):
        if marker["file"] not in kept:
            pieces += [text[at : marker.end()], "\n" * (end > marker.end()), " " * (end - marker.end() - 1)]
            at = end
    return "".join([*pieces, text[at:]])
