"""The text of a signature as tokens that know their place, and the error that points at one."""

from __future__ import annotations

import re
from typing import NoReturn

from opwright.errors import SignatureError

_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<mark>\.\.\.|->|//|<=|[()\[\],:;?!=+*-])|(?P<space>\s+)|(?P<other>.)",
    re.ASCII | re.DOTALL,
)


class NotationError(SignatureError):
    """A signature that can't be read or makes no sense, with the place of the fault.

    Attributes:
        text: the whole signature.
        position: where in ``text`` the fault is (0-based).
        message: what is wrong, without the signature around it.
        fix: what to write instead, or None.
    """

    def __init__(self, text: str, position: int, message: str, fix: str | None = None) -> None:
        """Compose the message, the line of the fault, a caret under it, and the likely fix."""
        self.text, self.position, self.message, self.fix = text, position, message, fix
        start = text.rfind("\n", 0, position) + 1
        line = text[start:].split("\n", 1)[0]
        caret = " " * (position - start) + "^"
        advice = f"\n  likely fix: {fix}" if fix else ""
        super().__init__(f"{message}\n  {line.expandtabs(1).rstrip()}\n  {caret}{advice}")

    def __reduce__(self) -> tuple[type, tuple[str, int, str, str | None]]:
        """Pickle by what it was made of."""
        return type(self), (self.text, self.position, self.message, self.fix)


class Tokens:
    """A cursor over the tokens.

    Attributes:
        word: the current token's text, empty at the end.
        kind: "name", "number", "mark", "other" or "end".
        place: where in the text it starts.
    """

    def __init__(self, text: str) -> None:
        """Split ``text``; what belongs to no token is one of kind "other"."""
        self.text = text
        matches = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
        end = len(text.rstrip()) or len(text)
        self._tokens = [(str(m.lastgroup), m.group(), m.start()) for m in matches] + [("end", "", end)]
        self._index = 0
        self.kind, self.word, self.place = self._tokens[0]

    def take(self) -> str:
        """The current word; the cursor moves on."""
        word = self.word
        if self.kind != "end":
            self._index += 1
            self.kind, self.word, self.place = self._tokens[self._index]
        return word

    def peek(self) -> str:
        """The word after the current one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)][1]

    def accept(self, word: str) -> bool:
        """Take ``word`` if it is the current one."""
        if self.word == word:
            self.take()
            return True
        return False

    def expect(self, word: str, where: str, fix: str | None = None) -> None:
        """Take ``word`` or fail, saying where it was expected."""
        if not self.accept(word):
            self.fail(f"expected '{word}' {where}, found {self.found()}", fix)

    def found(self) -> str:
        """The current token, for a message."""
        return repr(self.word) if self.word else "the end"

    def fail(self, message: str, fix: str | None = None, at: int | None = None) -> NoReturn:
        """Raise the error that points at ``at``, or at the current token."""
        raise NotationError(self.text, self.place if at is None else at, message, fix)
