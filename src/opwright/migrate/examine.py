"""One file: read, judged, and rewritten in memory."""

from __future__ import annotations

from pathlib import Path

from opwright.errors import SourceError
from opwright.migrate import cpp, flags, python
from opwright.migrate.cpp_module import module_findings
from opwright.migrate.files import KINDS, kind
from opwright.migrate.model import Examined, Finding, applied

__all__ = ["examine"]

_ENTANGLED = "within something else that is rewritten"


def examine(path: Path, *, first_generation: bool = False) -> Examined:
    """What a file uses that PyTorch has removed or deprecated, and its text with what is understood rewritten.

    Args:
        path: the file.
        first_generation: whether it is known to belong to an extension with TH's tensors (`first_generation` of a
            project's files says so): then nothing in it is rewritten.

    Raises:
        SourceError: it can't be read, isn't text, or is of a kind that isn't known.
    """
    before = _contents(path)
    text = before.decode("latin-1")  # offsets are bytes, and every encoding that ASCII is part of survives
    found = _find(path, text, first_generation=first_generation)
    try:
        after = applied(text, [edit for finding in found for edit in finding.edits])
    except ValueError:  # nothing of a text that is so entangled is understood
        found = [finding._replace(edits=(), note=finding.note or _ENTANGLED) for finding in found]
        after = text
    return Examined(path, tuple(found), before, after.encode("latin-1"))


def _find(path: Path, text: str, *, first_generation: bool) -> list[Finding]:
    sort = kind(path)
    if sort == "c++":
        found = cpp.find(text, path.suffix.lower(), first_generation=first_generation)
        return found if first_generation else sorted([*found, *module_findings(path, text)])
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
