"""Includes and conditionals of C and C++ source code; only ``#if 0`` is evaluated."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opwright.sources.cpp.tokens import Token, blank, segments

_INCLUDE = re.compile(r'#\s*include\s*(?:<([^>\n]*)>|"([^"\n]*)")')
_CONDITION = re.compile(r"#\s*(if(?:n?def)?|el(?:se|if\w*)|endif)\b\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"#\s*define\s+(\w+)\s*$")
_MAYBE_DEAD = re.compile(r"#\s*if\s+0")
_NEVER = re.compile(r"0\s*(?:$|//|/\*)")


class Include(NamedTuple):
    """An ``#include``.

    Attributes:
        name: the header's name.
        quoted: whether the name is in quotes rather than angle brackets.
        start: the offset of the ``#``.
        end: the offset just past the name.
    """

    name: str
    quoted: bool
    start: int
    end: int

    def __str__(self) -> str:
        """Return the name with its quotes or angle brackets."""
        return f'"{self.name}"' if self.quoted else f"<{self.name}>"


class Conditional(NamedTuple):
    """A conditional part, from an ``#if`` to its ``#endif`` or to the end of the source.

    Attributes:
        start: the offset of the ``#if``.
        end: the offset just past the ``#endif``.
        condition: the text after ``#if``, ``#ifdef`` or ``#ifndef``.
        is_guard: whether it is an ``#ifndef`` whose next directive is an empty ``#define`` of the same name.
    """

    start: int
    end: int
    condition: str
    is_guard: bool


def included(directive: Token) -> Include | None:
    """Return the include of a directive; None if the directive isn't an ``#include`` or includes a macro."""
    match = _INCLUDE.match(directive.text)
    if match is None:
        return None
    name, start = match[match.lastindex or 1], directive.start
    return Include(name, match.lastindex == 2, start, start + match.end())


def includes(text: str) -> list[Include]:
    """Return all ``#include`` directives, in order."""
    return [include for token in segments(text) if token.kind == "directive" and (include := included(token))]


def every_include(text: str, path: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Yield the names of the headers that a source in the file `path` includes, and that its own headers include.

    Its own are those beside the file that includes them, in quotes, and those in `folders`.
    """
    waiting, seen = [(text, path)], {path}
    while waiting:
        text, path = waiting.pop()
        for include in includes(text):
            yield include.name
            header = find_header(include, path, folders)
            if header and header not in seen:
                seen.add(header)
                waiting.append((header.read_text("utf-8", "replace"), header))


def find_header(include: Include, path: Path, folders: Iterable[Path]) -> Path | None:
    """Return the header that an include in the file `path` names, beside that file or in `folders`; None elsewhere."""
    searched = (*([path.parent] if include.quoted else ()), *folders)
    return next((header for folder in searched if os.path.isfile(header := folder / include.name)), None)


def without_dead_lines(text: str) -> str:
    """Blank out the lines between ``#if 0`` and its ``#else`` or ``#endif``; line numbers and offsets don't change."""
    if not _MAYBE_DEAD.search(text):
        return text
    pieces, start, depth = [], 0, 0  # depth: of nested conditions in a dead part
    for directive, word, condition in _conditions(text):
        if not depth and word == "if" and _NEVER.match(condition):
            pieces.append(text[start : directive.end])
            start, depth = directive.end, 1
        elif depth:
            depth += word.startswith("if") - (word == "endif")
            if depth == 0 or (depth == 1 and word.startswith("el")):
                pieces.append(blank(text[start : directive.start]))
                start, depth = directive.start, 0
    return "".join([*pieces, blank(text[start:]) if depth else text[start:]])


@functools.lru_cache(maxsize=8)
def conditionals(text: str) -> tuple[Conditional, ...]:
    """Return all conditional parts, inner before outer ones."""
    closed: list[Conditional] = []
    opened: list[tuple[Token, str, str]] = []
    directives = [token for token in segments(text) if token.kind == "directive"]
    behind = dict(zip(directives, [*(token.text for token in directives[1:]), ""], strict=False))
    for directive, word, condition in _conditions(text):
        if word.startswith("if"):
            opened.append((directive, word, condition))
        elif word == "endif" and opened:
            closed.append(_conditional(*opened.pop(), directive.end, behind))
    return (*closed, *(_conditional(*part, len(text), behind) for part in opened))


def _conditional(directive: Token, word: str, condition: str, end: int, behind: dict[Token, str]) -> Conditional:
    define = _DEFINE.match(behind[directive])
    is_guard = word == "ifndef" and define is not None and [define[1]] == condition.split()[:1]
    return Conditional(directive.start, end, condition, is_guard)


def _conditions(text: str) -> Iterator[tuple[Token, str, str]]:
    """Yield each conditional directive, its keyword, and the text after the keyword."""
    for token in segments(text):
        if token.kind == "directive" and (match := _CONDITION.match(token.text)):
            yield token, match[1], match[2]
