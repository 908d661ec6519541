"""Splits C and C++ text into what stands outside all bodies: declarations, and the heads of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.signature.record import record
from opwright.sources.lexer import TOKEN
from opwright.sources.scopes import Scopes

__all__ = ["Statement", "statements"]

_AGGREGATE = re.compile(rb"(?:\b(?:struct|enum|union|class)\b[^()]*|=\s*|\]\s*)\Z")


@record
class Statement:
    """A declaration without its ``;``, or the head of a function.

    Attributes:
        text: as it is written, but with blanks for comments, literals, directives and what stands in braces; every
            character and every line is where it was.
        offset: where it begins, in bytes.
        namespace: the namespaces around it, outermost first.
        defined: whether a body follows.
    """

    text: bytes
    offset: int
    namespace: tuple[str, ...]
    defined: bool


def statements(data: bytes) -> Iterator[Statement]:
    """Every statement outside all bodies, in order. Never fails: what can't be understood makes odd statements."""
    splitter = _Splitter()
    for token in TOKEN.finditer(data):
        yield from splitter.take(token.lastgroup or "", token.group(), token.start())


class _Splitter:
    """Fed with a text's tokens in order."""

    def __init__(self) -> None:
        self._scopes = Scopes()
        self._start = 0
        self._pieces: list[bytes] = []
        self._aggregate: list[bool] = []  # for each open body: does its statement go on behind it?

    def take(self, kind: str, text: bytes, offset: int) -> Iterator[Statement]:
        """The statement that ends with this token, if one does."""
        if kind == "directive":
            was_inside = self._scopes.in_body
            self._scopes.directive(text)
            if was_inside and not self._scopes.in_body:  # another branch begins outside
                self._aggregate.clear()
                self._begin(offset)
            self._add(_blank(text))
        elif kind == "brace":
            yield from self._brace(text, offset)
        elif kind == "plain":
            self._add(text)
            self._scopes.words(text)
        else:
            self._add(_blank(text))
            if kind != "comment":
                self._scopes.words(text)

    def _brace(self, text: bytes, offset: int) -> Iterator[Statement]:
        inside = self._scopes.in_body
        if text == b"{":
            yield from self._opened(offset)
            return
        self._scopes.brace(text)
        if text == b"}" and inside:
            goes_on = self._aggregate.pop() if self._aggregate else False
            if not self._scopes.in_body:
                self._add(text) if goes_on else self._begin(offset + 1)
            else:
                self._add(b" ")
        elif not inside:
            if text == b";":
                yield from self._statement(defined=False)
            self._begin(offset + 1)
        else:
            self._add(b" ")

    def _opened(self, offset: int) -> Iterator[Statement]:
        before = b"".join(self._pieces)
        inside = self._scopes.in_body
        self._scopes.brace(b"{")
        if inside:
            self._aggregate.append(True)
            self._pieces.append(b" ")
        elif self._scopes.in_body:
            goes_on = bool(_AGGREGATE.search(before))
            self._aggregate.append(goes_on)
            if not goes_on:
                yield from self._statement(defined=True)
            self._pieces.append(b"{")
        else:  # a namespace, or extern "C"
            self._begin(offset + 1)

    def _add(self, text: bytes) -> None:
        self._pieces.append(_blank(text) if self._scopes.in_body else text)

    def _begin(self, offset: int) -> None:
        self._start = offset
        self._pieces = []

    def _statement(self, *, defined: bool) -> Iterator[Statement]:
        text = b"".join(self._pieces)
        if text.strip():
            skipped = len(text) - len(text.lstrip())
            yield Statement(text.strip(), self._start + skipped, self._scopes.namespace(), defined)


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)
