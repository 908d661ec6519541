"""C and C++ source code as one line of tokens, so that regular expressions match code regardless of its layout.

Comments are left out, the contents of literals are hidden, and directives are tokenized, too, since ``#define CHECK(x)
AT_CHECK(x)`` uses AT_CHECK.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from opwright.sources.cpp.directives import Include, included
from opwright.sources.cpp.tokens import Token, directive_tokens, tokenize

_FREE_TEXT = re.compile(r"#[ \t]*(?:error|warning|pragma)\b")


class NormalizedText:
    """The tokens of a source, and their texts joined by single spaces.

    Attributes:
        source: the source code as written.
        tokens: the tokens, without comments; the text of a literal is ``""`` or ``''``. An ``#include`` is one token of
            the kind ``include``; a directive with free text, such as ``#error``, is one of the kind ``directive``.
        text: the joined text, in which patterns are searched.
        includes: the token index of each ``#include``, and the include.
    """

    def __init__(self, source: str, tokens: Sequence[Token], includes: Sequence[tuple[int, Include]] = ()) -> None:
        self.source = source
        self.tokens = tokens
        self.includes = includes
        self.text = " ".join(token.text for token in tokens)
        self._lines: list[int] | None = None
        self._starts = list(accumulate((len(token.text) + 1 for token in tokens), initial=0))

    def index(self, position: int) -> int:
        """Return the index of the token at a position in the joined text."""
        return bisect.bisect_right(self._starts, position) - 1

    def find(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """Yield the token range (start, exclusive end) of each match, except matches in an ``#include``."""
        for match in pattern.finditer(self.text):
            first = self.index(match.start())
            if self.tokens[first].kind != "include":
                yield first, self.index(match.end() - 1) + 1

    def line(self, index: int) -> int:
        """Return the line number of a token, from 1."""
        if self._lines is None:
            self._lines = [match.start() for match in re.finditer("\n", self.source)]
        return bisect.bisect_left(self._lines, self.tokens[index].start) + 1

    def closing(self, index: int) -> int:
        """Return the index of the token that closes the parenthesis, bracket or brace at `index`, or -1."""
        depth = 0
        for position in range(index, len(self.tokens)):
            text = self.tokens[position].text
            depth += (text in "([{") - (text in ")]}")
            if depth == 0:
                return position
        return -1

    def arguments(self, opening: int) -> list[tuple[int, int]]:
        """Return the token ranges (start, exclusive end) of the arguments in the parentheses that open at `opening`.

        The list is empty if the parenthesis is never closed.
        """
        closing, arguments, depth, first = self.closing(opening), [], 0, opening + 1
        for position in range(opening + 1, closing + 1):
            text = self.tokens[position].text
            if depth == 0 and (text == "," or position == closing):
                arguments.append((first, position))
                first = position + 1
            depth += (text in "([{") - (text in ")]}")
        return arguments if arguments != [(opening + 1, opening + 1)] else []

    def joined(self, first: int, behind: int) -> str:
        """Return the texts of the tokens from `first` to `behind` (exclusive), joined by spaces."""
        return " ".join(token.text for token in self.tokens[first:behind])


def normalized(source: str) -> NormalizedText:
    """Normalize C, C++ or CUDA source code; never fails, even if the code is invalid."""
    tokens: list[Token] = []
    includes: list[tuple[int, Include]] = []
    for token in tokenize(source):
        if token.kind != "directive":
            tokens += _normal([token])
        elif include := included(token):
            includes.append((len(tokens), include))
            tokens.append(Token("include", f"#include {include}", include.start, include.end))
        elif _FREE_TEXT.match(token.text):
            tokens.append(token._replace(text="#text"))
        else:
            tokens += _normal(directive_tokens(token, source))
    return NormalizedText(source, tokens, includes)


def _normal(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.kind in {"string", "char"}:
            yield token._replace(text='""' if token.kind == "string" else "''")
        elif token.kind != "comment":
            yield token
