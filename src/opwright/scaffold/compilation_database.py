"""The compilation database of a project that hasn't been compiled yet."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from opwright.errors import OpwrightError
from opwright.sources.scan import language_of
from opwright.toolchain import Options, Unit
from opwright.toolchain.build.compile_commands import Entry, entries
from opwright.toolchain.build.plan import make_plan
from opwright.toolchain.cache.manifest import Reader


def compile_commands(sources: Sequence[Path], *, aten: bool = False) -> str:
    """Return the content of ``compile_commands.json``: the command for each source here. `make` updates it.

    Args:
        sources: the source files.
        aten: whether the sources include PyTorch's headers.
    """
    rows = [entry for path in sources for entry in _entries(path, aten=aten)]
    return json.dumps([{**entry._asdict(), "arguments": list(entry.arguments)} for entry in rows], indent=1) + "\n"


def _entries(path: Path, *, aten: bool) -> list[Entry]:
    """Return the entries of a source; empty if the compiler or a needed PyTorch is missing, as `make` will report."""
    language = language_of(path)
    try:
        options = _emulated() if language == "cuda" else _with_torch() if aten else Options()
        unit = Unit(path.stem, "", path, "c" if language == "c" else "c++")
        return entries(make_plan(unit, options, Reader()))
    except (OpwrightError, ModuleNotFoundError):
        return []


def _emulated() -> Options:
    """Return the options for CUDA sources on the CPU: without a toolkit, only the emulation has CUDA headers."""
    from opwright.cuda.emulation.backend import DEFINED, SHADOW

    return Options(define=DEFINED, include_dirs=(SHADOW,))


def _with_torch() -> Options:
    from opwright.aten.pytorch import find_torch, include_paths

    find_torch()
    folders = (*include_paths("cpu"), sysconfig.get_path("include"))
    return Options(system_include_dirs=folders, define=("TORCH_EXTENSION_NAME=_C",))
