"""C++ source code for the rewriting rules, and its parts inside preprocessor conditions about versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opwright.record import record
from opwright.sources.cpp.directives import Conditional, conditionals
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.normalized import NormalizedText
from opwright.sources.cpp.tokens import Token

_HEADERS = {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"}


@record
class CppText:
    """The tokens of C, C++ or CUDA source code.

    Attributes:
        stream: the tokens and their joined text.
        suffix: the file's suffix.
    """

    stream: NormalizedText
    suffix: str

    @property
    def path(self) -> Path:
        """A placeholder path with the file's suffix."""
        return Path(f"text{self.suffix}")

    @property
    def is_c(self) -> bool:
        """Whether the source is C, in which the replacements (C++ names) aren't available."""
        return self.suffix == ".c"

    @property
    def is_header(self) -> bool:
        """Whether the file is a header."""
        return self.suffix in _HEADERS

    @property
    def tokens(self) -> Sequence[Token]:
        """The tokens."""
        return self.stream.tokens

    def line(self, index: int) -> int:
        """Return the line number of a token, from 1."""
        return self.stream.line(index)

    def is_(self, index: int, *texts: str) -> bool:
        """Return whether the tokens from `index` on have these texts."""
        return index >= 0 and [token.text for token in self.tokens[index : index + len(texts)]] == list(texts)

    def replaced(self, first: int, behind: int, text: str) -> Edit:
        """Return an edit that replaces the tokens from `first` to `behind` (exclusive) by `text`."""
        return Edit(self.tokens[first].start, self.tokens[behind - 1].end, text)

    def inserted(self, index: int, text: str) -> Edit:
        """Return an edit that inserts `text` after the token at `index`."""
        place = self.tokens[index].end
        return Edit(place, place, text)

    def includes(self) -> Iterator[tuple[int, str]]:
        """Yield the token index and the header's name of each include."""
        return ((index, include.name) for index, include in self.stream.includes)

    def dispatched(self, first: int) -> list[int]:
        """Return the token ``type`` of each ``x.type()`` that the dispatch macro at `first` takes as a type.

        Types are the arguments before the quoted name, or before the lambda if the name isn't a literal.
        """
        methods = []
        for start, behind in self.stream.arguments(first + 1):
            if self.tokens[start].kind == "string" or self.is_(start, "["):
                break
            ends = self.is_(behind - 3, "type", "(", ")") and self.tokens[behind - 4].text in {".", "->"}
            if ends and behind - 4 > start and not self.is_(behind - 7, "device", "(", ")"):
                methods.append(behind - 3)
        return methods

    def behind_template(self, opening: int) -> int:
        """Return the index after the ``>`` that closes the ``<`` at `opening`; -1 if these aren't template brackets."""
        depth = 0
        for index in range(opening, min(opening + 64, len(self.tokens))):
            text = self.tokens[index].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return index + 1
            if text in {";", "{", "}"}:
                break
        return -1


_ABOUT_VERSIONS = re.compile(r"VERSION|\bTORCH_|\bAT_|\bC10_|\bTHC?_")


def version_conditionals(text: str) -> list[Conditional]:
    """Return the conditional parts with a condition about versions, except include guards."""
    return [part for part in outer_conditionals(text) if _ABOUT_VERSIONS.search(part.condition)]


def outer_conditionals(text: str) -> list[Conditional]:
    """Return all conditional parts, except include guards."""
    return [part for part in conditionals(text) if not part.is_guard]


def is_inside(parts: Sequence[Conditional], offset: int) -> bool:
    """Return whether an offset is within one of the parts."""
    return any(part.start <= offset < part.end for part in parts)
