"""Tokens of a signature with their positions, the allowed names, and the error that points at a token."""

from __future__ import annotations

import keyword
import re
from typing import NoReturn

from opwright.errors import SignatureError
from opwright.signature.names import C_AND_CPP_KEYWORDS, RECORDED

_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<quoted>'[^'\\\n]*')|(?P<mark>\.\.\.|->|//|<=|==|[()\[\],:;?!=+*|.-])|(?P<space>\s+)|(?P<other>.)",
    re.ASCII | re.DOTALL,
)


class NotationError(SignatureError):
    """A signature that can't be parsed or contradicts itself, with the position of the error.

    Attributes:
        text: the whole signature.
        position: 0-based position of the error in ``text``.
        message: the problem, without the signature.
        fix: the likely fix, or None.
    """

    def __init__(self, text: str, position: int, message: str, fix: str | None = None) -> None:
        """Compose the message, the line with the error, a caret under it, and the likely fix."""
        self.text, self.position, self.message, self.fix = text, position, message, fix
        start = text.rfind("\n", 0, position) + 1
        line, at = _around(text[start:].split("\n", 1)[0].expandtabs(1).rstrip(), position - start)
        advice = f"\n  likely fix: {fix}" if fix else ""
        super().__init__(f"{message}\n  {line}\n  {' ' * at}^{advice}")

    def __reduce__(self) -> tuple[type, tuple[str, int, str, str | None]]:
        """Pickle by the constructor's arguments."""
        return type(self), (self.text, self.position, self.message, self.fix)


_MOST = 160
_GAP = "... "


def _around(line: str, position: int) -> tuple[str, int]:
    """Return the part of a long line that is around a position, and the position in it."""
    if len(line) <= _MOST:
        return line, position
    start = max(0, min(position - _MOST // 2, len(line) - _MOST))
    before, after = _GAP if start else "", _GAP.rstrip() if start + _MOST < len(line) else ""
    return f"{before}{line[start : start + _MOST]}{after}", position - start + len(before)


class Tokens:
    """A cursor over the tokens.

    Attributes:
        word: the current token's text, empty at the end.
        kind: "name", "number", "quoted", "mark", "other" or "end".
        place: the position in the text at which it starts.
    """

    def __init__(self, text: str) -> None:
        """Split ``text`` into tokens; characters that form no token become tokens of kind "other"."""
        self.text = text
        matches = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
        end = len(text.rstrip()) or len(text)
        self._tokens = [(str(m.lastgroup), m.group(), m.start()) for m in matches] + [("end", "", end)]
        self._index = 0
        self.kind, self.word, self.place = self._tokens[0]

    def take(self) -> str:
        """Return the current word and move on."""
        word = self.word
        if self.kind != "end":
            self._index += 1
            self.kind, self.word, self.place = self._tokens[self._index]
        return word

    def peek(self) -> str:
        """Return the word after the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)][1]

    def accept(self, word: str) -> bool:
        """Take the current token if it is ``word``; return whether it was."""
        if self.word == word:
            self.take()
            return True
        return False

    def expect(self, word: str, where: str, fix: str | None = None) -> None:
        """Take ``word``, or fail with a message that includes ``where``."""
        if not self.accept(word):
            self.fail(f"expected '{word}' {where}, found {self.describe()}", fix)

    def describe(self) -> str:
        """Return a description of the current token, for a message."""
        return repr(self.word) if self.word else "the end"

    def fail(self, message: str, fix: str | None = None, at: int | None = None) -> NoReturn:
        """Raise the error, pointing at the position ``at`` or at the current token."""
        raise NotationError(self.text, self.place if at is None else at, message, fix)


_PYTHON = frozenset(keyword.kwlist)


def take_name(tokens: Tokens, what: str, fix: str | None = None) -> str:
    """Take a name that C, C++ and Python all accept; ``what`` is its purpose for messages, such as "a parameter"."""
    if tokens.kind != "name":
        tokens.fail(f"expected the name of {what}, found {tokens.describe()}", fix)
    word = tokens.word
    language = "C++" if word in C_AND_CPP_KEYWORDS else "Python" if word in _PYTHON else None
    if language:
        tokens.fail(f"{word!r} can't be the name of {what}: it is a keyword of {language}", f"{word}_")
    if word.startswith("__"):
        tokens.fail(
            f"{word!r} can't be the name of {what}: C++ keeps names with '__' in front for itself",
            word.strip("_") or None,
        )
    return tokens.take()


def take_overload(tokens: Tokens, operator: str) -> str:
    """Take the name of an overload of the operator `operator`."""
    place, example = tokens.place, f"{operator}.number"
    name = take_name(tokens, f"an overload of {operator!r}", example)
    if name.startswith("_") or f"_{name}".endswith(f"_{RECORDED}") or name in _OF_PACKETS:
        why = "overloads are attributes of the operator, which has another one of that name"
        tokens.fail(f"{name!r} can't be the name of an overload: {why}", f"{operator}.{name.strip('_')}_", place)
    return name


_OF_PACKETS = ("op", "overloads", "op_overloads")
"""Attributes of PyTorch's operators with all their overloads."""


def check_parameter_name(tokens: Tokens, name: str, place: int, *, backward: bool) -> None:
    """Refuse names that are reserved for Opwright."""
    if name.startswith("axis_") or name == "output_mask":
        tokens.fail(
            f"{name!r} can't be the name of a parameter: Opwright's own schemas use it",
            f"{name}_in" if name == "output_mask" else name.removeprefix("axis_") + "_axis",
            place,
        )
    if name.startswith("grad_") and not backward:
        tokens.fail(
            f"{name!r}: the prefix 'grad_' is reserved for gradients, in operators named '..._backward'",
            f"rename it, as d_{name[5:]}" if name[5:] else "rename it",
            place,
        )
