"""Replacements of parts of a text, applied together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LINES = re.compile(r"^#[^\n]*$|\n", re.MULTILINE)


class Edit(NamedTuple):
    """Replacement of the text from offset `start` to offset `end` (exclusive) by `text`."""

    start: int
    end: int
    text: str = ""


def apply_edits(text: str, edits: Iterable[Edit], *, keep_lines: bool = False) -> str:
    """Return the text with the edits applied; an edit that begins within an earlier one is skipped.

    Args:
        text: the text to change.
        edits: edits in any order; of edits with the same `start`, insertions are applied, then the longest edit.
        keep_lines: whether to keep line breaks and line markers of the replaced text, after the replacement.
    """
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start, -edit.end)):
        if edit.start >= at:
            pieces += [text[at : edit.start], edit.text]
            pieces += _LINES.findall(text[edit.start : edit.end]) if keep_lines else ()
            at = edit.end
    return "".join([*pieces, text[at:]])
