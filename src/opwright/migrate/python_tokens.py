"""Python text, of any version, as tokens.

The standard library's tokenizer refuses what Python 2 wrote, and ``.cuda(async=True)`` is no Python today.
"""

from __future__ import annotations

import re

from opwright.aten.compat.tokens import Stream, Token

__all__ = ["python_stream"]

_TOKEN = re.compile(
    r"""
    (?P<space> (?:\s|\\\r?\n)+ )
  | (?P<comment> \#[^\n]* )
  | (?P<string> (?:[bBuUfF]?[rR]?|[rR][bBfF]) (?: (?P<triple>\"{3}|'{3})(?:[^\\]|\\.)*?(?:(?P=triple)|\Z)
                                                | "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'? ) )
  | (?P<number> \.?\d(?:[eE][+-]|\w|\.)* )
  | (?P<word> [^\W\d]\w* )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def python_stream(source: str) -> Stream:
    """The tokens of Python text; never fails, whatever the text is."""
    tokens = []
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind not in {"space", "comment"}:
            text = '""' if kind == "string" else match.group()
            tokens.append(Token(kind, text, match.start(), match.end()))
    return Stream(source, tokens)
