"""Examines one file: reads it, finds outdated code, and rewrites it in memory."""

from __future__ import annotations

import itertools
from pathlib import Path

from opwright.errors import SourceError
from opwright.migrate import cpp, flags, python
from opwright.migrate.cpp_includes import module_findings
from opwright.migrate.finding import Examined, Finding
from opwright.migrate.project import KINDS, file_kind
from opwright.sources.cpp.edits import apply_edits

_ENTANGLED = "within something else that is rewritten"


def examine(path: Path, *, first_generation: bool = False) -> Examined:
    """Find removed and deprecated features of PyTorch in a file, and rewrite those that are fully understood.

    Args:
        path: the file.
        first_generation: whether the file belongs to an extension with TH's tensors, as determined by the function
            `first_generation` for a project's files; if so, nothing is rewritten.

    Raises:
        SourceError: the file can't be read, isn't text, or is of an unknown kind.
    """
    before = _contents(path)
    text = before.decode("latin-1")  # offsets are byte offsets; preserves all supersets of ASCII
    findings = _find(path, text, first_generation=first_generation)
    edits = sorted({edit for finding in findings for edit in finding.edits})
    if any(one.end > other.start for one, other in itertools.pairwise(edits)):  # edits overlap: apply none
        findings = [finding._replace(edits=(), note=finding.note or _ENTANGLED) for finding in findings]
        edits = []
    after = apply_edits(text, edits)
    return Examined(path, tuple(findings), before, after.encode("latin-1"))


def _find(path: Path, text: str, *, first_generation: bool) -> list[Finding]:
    sort = file_kind(path)
    if sort == "c++":
        findings = cpp.find(text, path.suffix.lower(), first_generation=first_generation)
        return findings if first_generation else sorted([*findings, *module_findings(path, text)])
    if sort == "python":
        return python.find(text)
    if sort == "flags":
        return flags.find(text)
    known = ", ".join(sorted(KINDS))
    raise SourceError(f"{path}: what is in it isn't known; expected a name that ends with one of {known}")


def _contents(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise SourceError(f"{path}: it is no file")
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror or error}") from error
    if b"\0" in data:
        raise SourceError(f"{path}: it holds zero bytes; expected text in UTF-8, Latin-1 or another superset of ASCII")
    return data
