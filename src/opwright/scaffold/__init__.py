"""``opwright new``: a complete project around one operator, from templates.

A template is a working project whose operator is called ``my_op``: files of ``templates/common`` and of the kind's own
folders. Names are put in place of ``my_op``, ``MyOp`` and ``my-op``, what differs between kinds in place of ``@...@``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from opwright.errors import OpwrightError
from opwright.scaffold import editor
from opwright.scaffold.filling import files
from opwright.scaffold.kinds import KINDS, Kind
from opwright.scaffold.names import Name, read_name

__all__ = ["KINDS", "Kind", "Name", "new"]


def new(where: str | os.PathLike[str], kind: str = "kernel") -> list[Path]:
    """Write a project into a new folder.

    Args:
        where: the folder; its last part is the project's name.
        kind: of `KINDS`.

    Returns:
        The files; the compilation database, which is of this machine, last.

    Raises:
        OpwrightError: no project can have that name; there is something in the folder; it can't be written.
    """
    folder = Path(os.path.abspath(where))
    texts = files(KINDS[kind], read_name(folder.name, KINDS[kind]))
    _check_free(folder)
    try:
        _put(folder, texts)
        sources = [folder / path for path in texts if path.startswith("csrc/")]
        _write(folder / editor.FILE, editor.compile_commands(sources, aten=kind == "aten"))
    except OSError as error:
        raise OpwrightError(
            f"can't write {error.filename or folder}: {error.strerror or error}\n"
            "  likely fix: name a folder that can be written to"
        ) from error
    return [*(folder / path for path in texts), folder / editor.FILE]


def _check_free(folder: Path) -> None:
    """Nothing that is there is touched. A folder with nothing in it but git's is as good as none."""
    try:
        there = sorted(set(os.listdir(folder)) - {".git"})
    except FileNotFoundError:
        return
    except OSError as error:
        is_file = error.errno == errno.ENOTDIR
        what = "is there already, and is no folder" if is_file else f"can't be read: {error.strerror}"
        raise OpwrightError(f"{folder} {what}\n  likely fix: another name") from error
    if there:
        listed = ", ".join(there[:3]) + (", ..." if there[3:] else "")
        raise OpwrightError(
            f"{folder} is there already, and has {listed} in it; nothing was changed\n"
            "  likely fix: another name, or remove the folder"
        )


def _put(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files, or none: they are written beside the folder, then moved."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as work:
        for path, text in texts.items():
            _write(Path(work, path), text)
        folder.mkdir(exist_ok=True)
        for name in os.listdir(work):
            os.rename(Path(work, name), folder / name)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:  # never over something
        file.write(text)
