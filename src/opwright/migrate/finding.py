"""The data classes of a finding (its position and its rewriting) and of an examined file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from opwright.record import record
from opwright.sources.cpp.edits import Edit

Status = Literal["removed", "deprecated"]


class Finding(NamedTuple):
    """A use of something that PyTorch has removed or deprecated.

    Attributes:
        line: the line number, from 1.
        name: the name of the removed or deprecated feature, for messages.
        status: whether today's PyTorch has removed it, or only deprecated it.
        today: the replacement to write instead.
        edits: the edits that rewrite it; empty if the use isn't fully understood.
        note: why it isn't rewritten, if that isn't obvious.
    """

    line: int
    name: str
    status: Status
    today: str
    edits: tuple[Edit, ...] = ()
    note: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether it must be changed by hand."""
        return not self.edits


@record
class Examined:
    """An examined file: the findings, ordered by line, and the contents before and after the edits."""

    path: Path
    findings: tuple[Finding, ...]
    before: bytes
    after: bytes
