"""``compile_commands.json``, so that clangd and other tools parse a kernel as the compiler does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError
from opwright.toolchain.cache.folder import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.toolchain.build.plan import Plan

FILE = "compile_commands.json"


class Entry(NamedTuple):
    """The compile command of one file: the folder for relative paths, the file, and the whole command line."""

    directory: str
    file: str
    arguments: tuple[str, ...]


def entries(plan: Plan) -> list[Entry]:
    """Return an entry for each user source file of ``plan``, with the flags of the unit that includes it."""
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
    """Add ``new`` to ``folder``'s compile_commands.json, replacing entries of the same files; return its path.

    Other tools' entries stay; a file that isn't valid JSON is replaced.

    Raises:
        ToolchainError: the folder doesn't exist or can't be written to.
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
    others = [entry for entry in _existing_entries(path) if _file_of(entry) not in ours]
    write_atomically(path, json.dumps([*others, *ours.values()], indent=1) + "\n", work)


def write_for(plan: Plan, folder: Path, work: Path) -> None:
    """Write ``plan``'s entries into ``folder``, and into the folder ``OPWRIGHT_COMPILE_COMMANDS`` if it is set.

    Args:
        plan: the plan.
        folder: the unit's folder in the cache.
        work: the folder for unfinished files, below ``folder``.

    Raises:
        OSError: ``folder`` can't be written to.
        ToolchainError: the variable's folder doesn't exist or can't be written to.
    """
    new = entries(plan)
    if not new:
        return
    if not (folder / FILE).exists():
        _merge(folder / FILE, new, work)
    if chosen := os.environ.get("OPWRIGHT_COMPILE_COMMANDS"):
        write(chosen, new)


def _existing_entries(path: Path) -> list[object]:
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    return known if isinstance(known, list) else []


def _file_of(entry: object) -> str:
    """Return the absolute path of an entry's file; the entry may be another tool's."""
    if not isinstance(entry, dict):
        return ""
    return os.path.normpath(os.path.join(str(entry.get("directory", "")), str(entry.get("file", ""))))
