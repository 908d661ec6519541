"""C and C++ text as tokens, and as one line of them in which expressions are found by regular expressions.

Comments are left out, literals are opaque, and directives are tokens like any others, since ``#define CHECK(x)
AT_CHECK(x)`` uses AT_CHECK. Nothing is expanded. Text is decoded as latin-1, so that an offset is one in bytes and
every file survives the round trip.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Stream", "Token", "stream"]

_TOKEN = re.compile(
    r"""
    (?P<space> (?:\s|\\\r?\n)+ )
  | (?P<comment> //(?:[^\\\n]|\\\r?\n|\\)* | /\*.*?(?:\*/|\Z) )
  | (?P<raw> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)" )
  | (?P<string> (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"? )
  | (?P<char> [uUL]?'(?:[^'\\\n]|\\.)*'? )
  | (?P<include> \#[ \t]*include[ \t]*(?: <(?P<system>[^>\n]*)> | "(?P<local>[^"\n]*)" ) )
  | (?P<text> \#[ \t]*(?:error|warning|pragma)\b(?:[^\\\n]|\\\r?\n|\\)* )
  | (?P<number> \.?\d(?:[eEpP][+-]|'?\w|\.)* )
  | (?P<word> [^\W\d]\w* )
  | (?P<mark> ::|->|. )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPAQUE = {"raw": '""', "string": '""', "char": "''", "text": "#text"}


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: ``word``, ``number``, ``mark``, ``include``, ``string``, ``raw``, ``char`` or ``text`` (a directive of
            free text).
        text: as it stands in normalised text: a literal is ``""``, an include ``#include <ATen/ATen.h>``.
        start: where it begins.
        end: where it ends.
    """

    kind: str
    text: str
    start: int
    end: int


class Stream:
    """The tokens of a text, and their texts joined by single spaces, which is what expressions are looked for in."""

    def __init__(self, source: str, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.text = " ".join(token.text for token in tokens)
        self._starts = list(accumulate((len(token.text) + 1 for token in tokens), initial=0))

    def index(self, position: int) -> int:
        """The token at a position of the joined text."""
        return bisect.bisect_right(self._starts, position) - 1

    def find(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """Where a pattern is found: its first token and the one behind its last. Names of headers aren't looked at."""
        for match in pattern.finditer(self.text):
            first = self.index(match.start())
            if self.tokens[first].kind != "include":
                yield first, self.index(match.end() - 1) + 1

    def line(self, index: int) -> int:
        """The line of a token, from 1."""
        return self.source.count("\n", 0, self.tokens[index].start) + 1

    def closing(self, index: int) -> int:
        """The token that closes the parenthesis, bracket or brace at `index`, or -1 where nothing does."""
        depth = 0
        for position in range(index, len(self.tokens)):
            text = self.tokens[position].text
            depth += (text in "([{") - (text in ")]}")
            if depth == 0:
                return position
        return -1

    def arguments(self, opening: int) -> list[tuple[int, int]]:
        """The arguments between the parenthesis at `opening` and its counterpart.

        Each by its first token and the one behind its last. Nothing where the parenthesis is never closed.
        """
        closing, found, depth, first = self.closing(opening), [], 0, opening + 1
        for position in range(opening + 1, closing + 1):
            text = self.tokens[position].text
            if depth == 0 and (text == "," or position == closing):
                found.append((first, position))
                first = position + 1
            depth += (text in "([{") - (text in ")]}")
        return found if found != [(opening + 1, opening + 1)] else []

    def words(self, first: int, behind: int) -> str:
        """Some tokens, joined by spaces."""
        return " ".join(token.text for token in self.tokens[first:behind])


def stream(source: str) -> Stream:
    """The tokens of C, C++ or CUDA text; never fails, whatever the text is."""
    tokens = []
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind not in {"space", "comment"}:
            tokens.append(Token(kind, _normal(kind, match), match.start(), match.end()))
    return Stream(source, tokens)


def _normal(kind: str, match: re.Match[str]) -> str:
    if kind == "include":
        return f"#include <{match['system']}>" if match["system"] is not None else f'#include "{match["local"]}"'
    return _OPAQUE.get(kind, match.group())
