"""The compilation database of a project that hasn't been compiled yet."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from opwright.errors import OpwrightError
from opwright.sources.scan import language_of
from opwright.toolchain import Options, Unit
from opwright.toolchain.compile_commands import FILE, Entry, entries
from opwright.toolchain.manifest import Reader
from opwright.toolchain.plan import make_plan

__all__ = ["FILE", "compile_commands"]


def compile_commands(sources: Sequence[Path], *, aten: bool = False) -> str:
    """The text of ``compile_commands.json``: how each of the sources is compiled here; `make` brings it up to date.

    Args:
        sources: the files.
        aten: whether they include PyTorch's headers.
    """
    found = [entry for path in sources for entry in _entries(path, aten=aten)]
    return json.dumps([{**entry._asdict(), "arguments": list(entry.arguments)} for entry in found], indent=1) + "\n"


def _entries(path: Path, *, aten: bool) -> list[Entry]:
    """None where there is no compiler, or no PyTorch for what needs its headers: `make` says so."""
    language = language_of(path)
    try:
        options = _emulated() if language == "cuda" else _with_torch() if aten else Options()
        unit = Unit(path.stem, "", path, "c" if language == "c" else "c++")
        return entries(make_plan(unit, options, Reader()))
    except (OpwrightError, ModuleNotFoundError):
        return []


def _emulated() -> Options:
    """As CUDA sources are compiled for the CPU: without a toolkit there are no other headers of CUDA's."""
    from opwright.cuda.emulation.backend import DEFINED, SHADOW

    return Options(define=DEFINED, include_dirs=(SHADOW,))


def _with_torch() -> Options:
    from opwright.aten.installed import find_torch, include_paths

    find_torch()
    folders = (*include_paths("cpu"), sysconfig.get_path("include"))
    return Options(system_include_dirs=folders, define=("TORCH_EXTENSION_NAME=_C",))
