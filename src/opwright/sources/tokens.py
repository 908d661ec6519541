"""The tokens of C++ and CUDA text, and which brackets belong together.

Works on a file as it is written and on what the preprocessor makes of it: comments and directives are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

__all__ = ["Token", "Tokens"]

_TOKEN = re.compile(
    r"""
    (?P<skip> [\s\\]+ | //(?:[^\\\n]|\\.)* | /\*.*?(?:\*/|\Z) )
  | (?P<directive> \# (?: "(?:[^"\\\n]|\\.)*" | /\*.*?(?:\*/|\Z) | \\\r?\n | [^\n] )* )
  | (?P<string> (?:u8|[uUL])? (?: R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)" | "(?:[^"\\\n]|\\.)*"? ) )
  | (?P<char> (?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'? )
  | (?P<number> \.?\d (?: [eEpP][+-] | '(?=\w) | [\w.] )* )
  | (?P<word> [^\W\d] \w* )
  | (?P<sign> <<< | ->\*? | :: | <<=? | <= | >= | && | \|\| | \+\+ | -- | [-+*/%&|^!=]= | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """One token: its kind (``word``, ``number``, ``string``, ``char`` or ``sign``), text, and where it stands.

    ``>`` is always a token by itself, so that template arguments can be counted.
    """

    kind: str
    text: str
    start: int
    end: int


class Tokens:
    """The tokens of `text`.

    Attributes:
        text: what they were read from.
    """

    def __init__(self, text: str) -> None:
        """Nothing is read before it is asked for."""
        self.text = text

    @cached_property
    def all(self) -> list[Token]:
        """Every token, in order."""
        return [
            Token(match.lastgroup or "", match.group(), match.start(), match.end())
            for match in _TOKEN.finditer(self.text)
            if match.lastgroup not in {"skip", "directive"}
        ]

    @cached_property
    def partner(self) -> dict[int, int]:
        """The index of the bracket that belongs to the bracket at each index, both ways; unmatched ones are missing."""
        found: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self.all):
            if token.kind != "sign":
                continue
            if token.text in _CLOSING:
                opened.append(index)
            elif token.text in _CLOSING.values():
                while opened and _CLOSING[self.all[opened[-1]].text] != token.text:
                    opened.pop()  # a branch of an #if that leaves it open
                if opened:
                    found[index] = opened.pop()
                    found[found[index]] = index
        return found

    def is_sign(self, index: int, *texts: str) -> bool:
        """Whether the token at `index` is one of these signs; False beyond either end."""
        return 0 <= index < len(self.all) and self.all[index].kind == "sign" and self.all[index].text in texts

    def is_word(self, index: int, *texts: str) -> bool:
        """Whether the token at `index` is a word (one of `texts`, if there are any); False beyond either end."""
        if not 0 <= index < len(self.all) or self.all[index].kind != "word":
            return False
        return not texts or self.all[index].text in texts

    def after_angle(self, index: int) -> int | None:
        """The index behind the ``>`` that closes the template arguments which the ``<`` at `index` opens.

        None where it is no template's: a ``;``, a ``{`` or the end comes first.
        """
        depth, at = 0, index
        while at < len(self.all):
            text = self.all[at].text if self.all[at].kind == "sign" else ""
            if text in {"(", "["}:
                at = self.partner.get(at, len(self.all))
            elif text in {";", "{", "}", ")", "]", "&&", "||", "<<<"}:
                return None
            elif text in {"<", ">"}:
                depth += 1 if text == "<" else -1
                if depth == 0:
                    return at + 1
            at += 1
        return None

    def angle_before(self, index: int) -> int | None:
        """The index of the ``<`` whose template arguments end with the ``>`` at `index`."""
        depth, at = 0, index
        while at >= 0:
            text = self.all[at].text if self.all[at].kind == "sign" else ""
            if text in {")", "]", "}"}:
                at = self.partner.get(at, -1)
            elif text in {";", "{", "(", "["}:
                return None
            elif text in {"<", ">"}:
                depth += 1 if text == ">" else -1
                if depth == 0:
                    return at
            at -= 1
        return None

    def enclosing(self, index: int) -> Iterator[int]:
        """The indices of the ``{`` around the token at `index`, innermost first."""
        at = index - 1
        while at >= 0:
            if self.is_sign(at, "}", ")", "]"):
                at = self.partner.get(at, at)
            elif self.is_sign(at, "{"):
                yield at
            at -= 1

    def statement_start(self, index: int) -> int:
        """The index where the statement that the token at `index` belongs to begins."""
        at = index
        while at > 0 and not self.is_sign(at - 1, ";", "{", "}", ":", "("):
            at = self.partner.get(at - 1, at - 1) if self.is_sign(at - 1, ")", "]") else at - 1
        return at
