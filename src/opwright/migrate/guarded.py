"""The parts of a C or C++ text that a condition about versions keeps for some PyTorch alone."""

from __future__ import annotations

import re

__all__ = ["conditional", "guarded", "inside"]

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b((?:[^\\\n]|\\\r?\n|\\)*)", re.MULTILINE)
_ABOUT_VERSIONS = re.compile(r"VERSION|\bTORCH_|\bAT_|\bC10_|\bTHC?_")
_ANYTHING = re.compile("")


def guarded(text: str) -> list[tuple[int, int]]:
    """Where such parts begin and end, in bytes. One that is never closed goes on to the end."""
    return _regions(text, _ABOUT_VERSIONS)


def conditional(text: str) -> list[tuple[int, int]]:
    """Where parts begin and end that any condition governs, but for a header's guard."""
    return _regions(text, _ANYTHING)


def _regions(text: str, condition: re.Pattern[str]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    opened: list[tuple[int, bool]] = []
    for match in _DIRECTIVE.finditer(text):
        if match[1] != "endif":
            opened.append((match.start(), bool(condition.search(match[2])) and not _is_a_guard(text, match)))
        elif opened:
            start, about = opened.pop()
            found += [(start, match.end())] if about else []
    return found + [(start, len(text)) for start, about in opened if about]


def inside(regions: list[tuple[int, int]], place: int) -> bool:
    """Whether a place is within one of the regions."""
    return any(start <= place < end for start, end in regions)


def _is_a_guard(text: str, match: re.Match[str]) -> bool:
    """Whether it is a header's guard: an ``#ifndef`` with the ``#define`` of the same, empty name right behind it."""
    name = match[2].split()[:1]
    if match[1] != "ifndef" or not name:
        return False
    return bool(re.match(rf"\s*#[ \t]*define[ \t]+{re.escape(name[0])}[ \t]*\r?$", text[match.end() :], re.MULTILINE))
