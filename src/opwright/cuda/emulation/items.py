"""Declarations of preprocessed text, as they are compared between the host's text and the device's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from opwright.cuda.emulation.regions import Place, Region
from opwright.sources.chunks import Chunk, chunks

__all__ = ["MARKS", "Item", "items"]

_DIRECTIVE = re.compile(r"^#[^\n]*$", re.MULTILINE)
MARKS = {"__host__", "__device__"}


@dataclass(frozen=True, eq=False)
class Item:
    """A declaration, and the region that it stands in.

    Attributes:
        region: the part of the text.
        chunk: what is declared.
    """

    region: Region
    chunk: Chunk

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.region.place(self.chunk.start)

    @property
    def key(self) -> tuple[Place, str, str]:
        """What is the same for the host's and the device's, where both have it."""
        return self.place, self.chunk.kind, self.chunk.name

    @functools.cached_property
    def words(self) -> list[str]:
        """What tells it from others: its text without marks."""
        return _words(self.text(self.chunk.start, self.chunk.end))

    @property
    def head(self) -> list[str]:
        """The same of what stands before its body."""
        return _words(self.text(self.chunk.start, self.body[0])) if self.chunk.body else self.words

    @property
    def body(self) -> tuple[int, int]:
        """The offsets of the brace that opens its body, and behind the one that closes it."""
        every, (first, last) = self.region.tokens.all, self.chunk.body or (0, 0)
        return every[first].start, every[last].end

    def text(self, start: int, end: int) -> str:
        """What stands between two offsets of its region."""
        return self.region.text[start:end]

    def at(self, start: int, end: int) -> str:
        """The text, behind a marker that says where it is from."""
        return self.region.place(start).marker + self.text(start, end)

    def members(self) -> list[Item]:
        """Of a class."""
        first, last = self.chunk.body or (0, 0)
        return [Item(self.region, chunk) for chunk in chunks(self.region.tokens, first + 1, last)]


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+|[^\w\s]", _DIRECTIVE.sub("", text)) if word not in MARKS]


def items(found: Iterable[Region]) -> list[Item]:
    """The declarations of regions, in order."""
    return [Item(region, chunk) for region in found for chunk in chunks(region.tokens)]
