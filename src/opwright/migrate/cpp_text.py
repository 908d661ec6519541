"""A C++ text, and the questions that rules ask about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opwright.aten.compat.tokens import Stream, Token
from opwright.migrate.model import Edit
from opwright.signature.record import record

__all__ = ["CppText"]

_HEADERS = {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"}


@record
class CppText:
    """The tokens of a C, C++ or CUDA text.

    Attributes:
        stream: them.
        suffix: the file's.
    """

    stream: Stream
    suffix: str

    @property
    def path(self) -> Path:
        """A path of no meaning but its suffix."""
        return Path(f"text{self.suffix}")

    @property
    def is_c(self) -> bool:
        """Whether it is C, in which PyTorch's names of today don't exist."""
        return self.suffix == ".c"

    @property
    def is_header(self) -> bool:
        """Whether others include it."""
        return self.suffix in _HEADERS

    @property
    def tokens(self) -> list[Token]:
        """The tokens."""
        return self.stream.tokens

    def line(self, index: int) -> int:
        """The line of a token, from 1."""
        return self.stream.line(index)

    def is_(self, index: int, *texts: str) -> bool:
        """Whether these tokens stand at `index`."""
        return index >= 0 and [token.text for token in self.tokens[index : index + len(texts)]] == list(texts)

    def replaced(self, first: int, behind: int, text: str) -> Edit:
        """The tokens from `first` to before `behind`, with what is between them, become a text."""
        return Edit(self.tokens[first].start, self.tokens[behind - 1].end, text)

    def inserted(self, index: int, text: str) -> Edit:
        """A text behind a token."""
        place = self.tokens[index].end
        return Edit(place, place, text)

    def includes(self) -> Iterator[tuple[int, str]]:
        """The includes: the token and the header's name."""
        return ((i, token.text[10:-1]) for i, token in enumerate(self.tokens) if token.kind == "include")

    def dispatched(self, first: int) -> list[int]:
        """The ``type`` of each ``x.type()`` that a dispatching macro, whose name is at `first`, is given as its type.

        That is an argument before the name in quotes, or before the function where the name isn't a literal.
        """
        found = []
        for start, behind in self.stream.arguments(first + 1):
            if self.tokens[start].kind in {"string", "raw"} or self.is_(start, "["):
                break
            ends = self.is_(behind - 3, "type", "(", ")") and self.tokens[behind - 4].text in {".", "->"}
            if ends and behind - 4 > start and not self.is_(behind - 7, "device", "(", ")"):
                found.append(behind - 3)
        return found

    def behind_template(self, opening: int) -> int:
        """The token behind the ``>`` that closes the ``<`` at `opening`; -1 where it isn't a list of types."""
        depth = 0
        for index in range(opening, min(opening + 64, len(self.tokens))):
            text = self.tokens[index].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return index + 1
            if text in {";", "{", "}"}:
                break
        return -1
