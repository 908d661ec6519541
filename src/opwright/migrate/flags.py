"""Finds outdated compiler flags in setup.py files, Makefiles and scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.aten.flags import updated_standard
from opwright.migrate.finding import Finding
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.tokens import line_of

_STANDARD = re.compile(r"(?<![\w-])--?std=(?:c|gnu)\+\+(?:98|0x|03|11|1y|14|1z|17)(?!\w)")
_ARCHITECTURE = re.compile(r"(?<![a-zA-Z0-9])(?:sm|compute)_(\d{2})(?!\d)")
_ABI = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=0(?!\d)")
_COMMENT = re.compile(r"(?<!\S)#.*")
_FIRST_ARCHITECTURE = 75  # of CUDA 13


def find(text: str) -> list[Finding]:
    """Return the findings in a Makefile, shell script or CMake file, decoded as latin-1; nothing is rewritten."""
    findings: list[Finding] = []
    place = 0
    for line in text.splitlines(keepends=True):
        comment = _COMMENT.search(line)
        findings += flag_findings(text, place, place + (comment.start() if comment else len(line)), rewritten=False)
        place += len(line)
    return findings


def flag_findings(text: str, start: int, end: int, *, rewritten: bool) -> Iterator[Finding]:
    """Yield the outdated flags between two offsets of a text; add edits if `rewritten`."""
    for match in _STANDARD.finditer(text, start, end):
        today = updated_standard(match.group())
        edits = (Edit(match.start(), match.end(), today),) if rewritten else ()
        yield Finding(line_of(text, match.start()), match.group(), "removed", today, edits)
    for match in _ARCHITECTURE.finditer(text, start, end):
        if int(match[1]) < _FIRST_ARCHITECTURE:
            today = f"{_FIRST_ARCHITECTURE} or later, where nvcc is CUDA 13's"
            yield Finding(line_of(text, match.start()), match.group(), "removed", today)
    for match in _ABI.finditer(text, start, end):
        yield Finding(
            line_of(text, match.start()), match.group(), "removed", "nothing: PyTorch is built with the new ABI"
        )
