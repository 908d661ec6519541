"""What is found in a file, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from opwright.signature.record import record

__all__ = ["Edit", "Examined", "Finding", "Status", "applied"]

Status = Literal["removed", "deprecated"]


class Edit(NamedTuple):
    """A stretch of the text, in bytes, and what takes its place."""

    start: int
    end: int
    text: str


class Finding(NamedTuple):
    """A use of something that PyTorch has removed or deprecated.

    Attributes:
        line: where, from 1.
        name: what, as a person would write it.
        status: whether today's PyTorch refuses it, or only warns.
        today: what to write instead.
        edits: what rewrites it; empty where it isn't fully understood.
        note: why it is left alone, where that isn't plain.
    """

    line: int
    name: str
    status: Status
    today: str
    edits: tuple[Edit, ...] = ()
    note: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether it is left to people."""
        return not self.edits


@record
class Examined:
    """A file that was read: the findings in it, in order of lines, and its text before and after, in bytes."""

    path: Path
    findings: tuple[Finding, ...]
    before: bytes
    after: bytes


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made.

    Raises:
        ValueError: two of them overlap.
    """
    pieces, place = [], 0
    for edit in sorted(set(edits)):
        if edit.start < place:
            raise ValueError(f"edits overlap at byte {edit.start}")
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])
