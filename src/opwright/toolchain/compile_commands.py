"""``compile_commands.json``, so that clangd and other tools read a kernel the way the compiler does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.cache import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.toolchain.plan import Plan

FILE = "compile_commands.json"


class Entry(NamedTuple):
    """How one file is compiled: the folder of relative paths, the file, and the whole command."""

    directory: str
    file: str
    arguments: tuple[str, ...]


def entries(plan: Plan) -> list[Entry]:
    """One entry for each source file of the user's in ``plan``, with the flags of the unit that includes it."""
    return [
        Entry(
            directory=os.path.dirname(source),
            file=source,
            arguments=(
                *part.compiler.link_command, *part.flags,
                "-x", part.unit.language, "-fsyntax-only", source,
            ),
        )
        for part in plan.parts
        if part.unit.source
        for source in [os.path.abspath(part.unit.source)]
    ]  # fmt: skip


def write(folder: str | Path, new: Iterable[Entry]) -> Path:
    """Put ``new`` into ``folder``'s compile_commands.json, in place of what it says of the same files.

    Other tools' entries stay; a file that can't be read as JSON is replaced. Returns the file's path.

    Raises:
        ToolchainError: the folder isn't there or can't be written to.
    """
    path = Path(folder) / FILE
    try:
        _merge(path, new, None)
    except OSError as error:
        raise ToolchainError(
            f"can't write {path}: {error.strerror or error}\n"
            f"  likely fix: make the folder, or point OPWRIGHT_COMPILE_COMMANDS at one that can be written to"
        ) from error
    return path


def _merge(path: Path, new: Iterable[Entry], work: Path | None) -> None:
    ours = {entry.file: {**entry._asdict(), "arguments": list(entry.arguments)} for entry in new}
    others = [entry for entry in _known(path) if _named(entry) not in ours]
    write_atomically(path, json.dumps([*others, *ours.values()], indent=1) + "\n", work)


def write_for(plan: Plan, folder: Path, work: Path) -> None:
    """Write ``plan``'s entries into ``folder``, and where ``OPWRIGHT_COMPILE_COMMANDS`` names one, there too.

    Args:
        plan: what is compiled.
        folder: of the cache.
        work: where unfinished files lie, below ``folder``.

    Raises:
        OSError: ``folder`` can't be written to.
        ToolchainError: the folder that the variable names isn't there or can't be written to.
    """
    found = entries(plan)
    if not found:
        return
    if not (folder / FILE).exists():
        _merge(folder / FILE, found, work)
    if chosen := os.environ.get("OPWRIGHT_COMPILE_COMMANDS"):
        write(chosen, found)


def _known(path: Path) -> list[object]:
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    return known if isinstance(known, list) else []


def _named(entry: object) -> str:
    """The absolute path of the file that an entry, perhaps another tool's, is about."""
    if not isinstance(entry, dict):
        return ""
    return os.path.normpath(os.path.join(str(entry.get("directory", "")), str(entry.get("file", ""))))
