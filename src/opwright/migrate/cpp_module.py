"""``PYBIND11_MODULE`` in a source that has ``<torch/torch.h>`` from a header of its project."""

from __future__ import annotations

from pathlib import Path

from opwright.aten.compat.names import NAMES
from opwright.aten.compat.scan import read, used
from opwright.aten.compat.tokens import stream
from opwright.migrate.cpp_headers import newline, outer_includes
from opwright.migrate.cpp_text import CppText
from opwright.migrate.model import Edit, Finding

__all__ = ["module_findings"]

_NAME = next(name for name in NAMES if name.name == "PYBIND11_MODULE after <torch/torch.h>")


def module_findings(path: Path, text: str) -> list[Finding]:
    """What the text of the file alone doesn't tell: the headers that it includes bring no pybind11, either.

    Args:
        path: the file; headers in quotes are looked for beside it.
        text: what is in it, decoded as latin-1.
    """
    if "PYBIND11_MODULE" not in text or "torch/torch.h" in text:
        return []
    use = next((use for use in used(read(path)) if use.name == _NAME and use.path == path), None)
    if use is None:
        return []
    source = CppText(stream(text), path.suffix.lower())
    start = next((source.tokens[index].start for index in outer_includes(source)), None)
    edits = () if start is None else (Edit(start, start, f"#include <torch/extension.h>{newline(source)}"),)
    return [Finding(use.line, _NAME.name, _NAME.status, _NAME.today, edits)]
