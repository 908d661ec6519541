"""Finds the brace that is missing, or one too many, in source code whose braces don't match."""

from __future__ import annotations

import re
from typing import NamedTuple

from opwright.sources.cpp.directives import without_dead_lines
from opwright.sources.cpp.tokens import line_of, segments

_CONDITION = re.compile(r"\s*#\s*(if|el|endif)")
_SCOPE = re.compile(r"\b(?:namespace(?:\s+[\w:]+)?|extern\s*\"[^\"]*\")\s*\Z")


class Unbalanced(NamedTuple):
    """Braces that don't match.

    Attributes:
        line: the line to look at: before it a ``}`` is missing, or its ``}`` is one too many.
        opened: the line of the ``{`` that probably lacks its ``}``; 0 if there is a ``}`` too many.
        function: the line in which the outermost unclosed body begins; 0 if there is a ``}`` too many.
        told: whether the indentation tells where the ``}`` is missing.
    """

    line: int
    opened: int
    function: int
    told: bool = False

    @property
    def place(self) -> int:
        """The line to show: the one with the ``{`` that lacks its ``}``, or with the ``}`` too many."""
        return self.opened or self.line

    @property
    def problem(self) -> str:
        """The problem, in a clause."""
        if not self.opened:
            return "this } closes nothing: it is one too many, or a { is missing above"
        return f"the function that begins in line {self.function} isn't closed: a }} is missing"

    @property
    def fix(self) -> str:
        """What to write."""
        if not self.opened:
            return "leave it out, or write the { that it belongs to"
        return f"close the {{ of line {self.opened} {f'before line {self.line}' if self.told else 'at its end'}"


class _Brace(NamedTuple):
    line: int
    indentation: int
    is_scope: bool


def unbalanced(text: str) -> Unbalanced | None:
    """Return where the braces of `text` don't match, or None if they do.

    A ``}`` that stands further left than the line of its ``{`` tells which ``{`` was left open. Of an ``#if``, each
    branch begins with the braces that are open before it.
    """
    reader = _Reader(without_dead_lines(text))
    for part in segments(reader.text):
        if part.kind == "directive":
            reader.directive(part.text)
        elif part.kind == "brace" and part.text == "{":
            reader.opened(part.start)
        elif part.kind == "brace" and part.text == "}" and not reader.closed(part.start):
            return Unbalanced(line_of(reader.text, part.start), 0, 0)
    return reader.result()


class _Reader:
    """The braces that are open, as far as the text was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._open: list[_Brace] = []
        self._branches: list[list[_Brace]] = []
        self._suspect: Unbalanced | None = None

    def directive(self, text: str) -> None:
        """Process a directive."""
        condition = _CONDITION.match(text)
        if not condition:
            return
        if condition[1] == "if":
            self._branches.append(list(self._open))
        elif condition[1] == "el" and self._branches:
            self._open = list(self._branches[-1])
        elif self._branches:
            self._branches.pop()

    def opened(self, offset: int) -> None:
        """Process a ``{``."""
        is_scope = bool(_SCOPE.search(self.text[max(0, offset - 200) : offset]))
        self._open.append(_Brace(line_of(self.text, offset), _indentation(self.text, offset), is_scope))

    def closed(self, offset: int) -> bool:
        """Process a ``}``; return whether there is a ``{`` for it."""
        if not self._open:
            return False
        closed = self._open.pop()
        first = not self.text[:offset].rpartition("\n")[2].strip()
        if first and self._suspect is None and _indentation(self.text, offset) < closed.indentation:
            outermost = next((brace.line for brace in self._open if not brace.is_scope), closed.line)
            self._suspect = Unbalanced(line_of(self.text, offset), closed.line, outermost, told=True)
        return True

    def result(self) -> Unbalanced | None:
        """Return the brace that is missing at the end of the text."""
        bodies = [brace for brace in self._open if not brace.is_scope] or self._open
        if not bodies:
            return None
        # The brace after which the lines stand too far left, if that is in the body which stays open.
        if self._suspect and self._suspect.opened > bodies[0].line:
            return self._suspect
        return Unbalanced(len(self.text.rstrip().splitlines()), bodies[-1].line, bodies[0].line)


def _indentation(text: str, offset: int) -> int:
    line = text[text.rfind("\n", 0, offset) + 1 :].split("\n", 1)[0].expandtabs(8)
    return len(line) - len(line.lstrip())
