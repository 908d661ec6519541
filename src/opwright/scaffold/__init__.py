"""``opwright new``: a complete project around one operator, from templates.

A template is a working project with the operator ``my_op``: the files in ``templates/common`` and in the folders of its
kind. The names ``my_op``, ``MyOp`` and ``my-op`` are replaced by the project's, and ``@...@`` by the kind's values.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright.errors import OpwrightError
from opwright.scaffold.compilation_database import compile_commands
from opwright.scaffold.kinds import KINDS, Kind, files
from opwright.scaffold.names import Name, parse_name
from opwright.toolchain.build.compile_commands import FILE

__all__ = ["KINDS", "Kind", "Name", "new"]


def new(where: str | os.PathLike[str], kind: str = "kernel") -> list[Path]:
    """Write a project into a new folder.

    Args:
        where: the folder; its last component is the project's name.
        kind: one of `KINDS`.

    Returns:
        The files; the last is the compilation database, which is valid only on this machine.

    Raises:
        OpwrightError: the name is invalid for a project, the folder isn't empty, or it can't be written.
    """
    folder = Path(os.path.abspath(where))
    texts = files(KINDS[kind], parse_name(folder.name, KINDS[kind]))
    _check_empty(folder)
    try:
        _write_all(folder, texts)
        sources = [folder / path for path in texts if path.startswith("csrc/")]
        _write(folder / FILE, compile_commands(sources, aten=kind == "aten"))
    except OSError as error:
        raise OpwrightError(
            f"can't write {error.filename or folder}: {error.strerror or error}\n"
            "  likely fix: name a folder that can be written to"
        ) from error
    return [*(folder / path for path in texts), folder / FILE]


def _check_empty(folder: Path) -> None:
    """Raise if the folder isn't empty; git's own folder is allowed."""
    try:
        existing = sorted(set(os.listdir(folder)) - {".git"})
    except FileNotFoundError:
        return
    except OSError as error:
        is_file = error.errno == errno.ENOTDIR
        what = "is there already, and is no folder" if is_file else f"can't be read: {error.strerror}"
        raise OpwrightError(f"{folder} {what}\n  likely fix: another name") from error
    if existing:
        listed = ", ".join(existing[:3]) + (", ..." if existing[3:] else "")
        raise OpwrightError(
            f"{folder} is there already, and has {listed} in it; nothing was changed\n"
            "  likely fix: another name, or remove the folder"
        )


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files or none: they are written to a temporary folder, then moved."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as work:
        for path, text in texts.items():
            _write(Path(work, path), text)
        folder.mkdir(exist_ok=True)
        for name in os.listdir(work):
            os.rename(Path(work, name), folder / name)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:  # never overwrites a file
        file.write(text)
