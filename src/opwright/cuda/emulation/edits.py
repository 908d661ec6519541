"""Changes to a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_DIRECTIVE = re.compile(r"^#[^\n]*$", re.MULTILINE)


class Edit(NamedTuple):
    """What stands between two offsets becomes `text`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all of `edits`; one within another counts for nothing."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= at:
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*pieces, text[at:]])


def one_line(text: str) -> str:
    """C++ text on a single line, without directives."""
    return " ".join(_DIRECTIVE.sub("", text).split("\n"))


def has_directive(text: str) -> bool:
    """Whether a line marker or a pragma stands in it."""
    return bool(_DIRECTIVE.search(text))
