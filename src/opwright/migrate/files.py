"""The files of a project: which are read, and how one is written."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = ["KINDS", "chosen", "write"]

_CPP = {".c", ".cc", ".cpp", ".cxx", ".c++", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl"}
KINDS = dict.fromkeys(_CPP, "c++") | {".py": "python", ".sh": "flags", ".mk": "flags", ".cmake": "flags"}
"""What is in a file, by its suffix."""
_NAMES = {"Makefile": "flags", "makefile": "flags", "GNUmakefile": "flags", "CMakeLists.txt": "flags"}
_PASSED_OVER = {"build", "dist", "node_modules", "site-packages", "__pycache__"}


def kind(path: Path) -> str:
    """What is in a file, by its name; empty for what isn't read."""
    return _NAMES.get(path.name) or KINDS.get(path.suffix.lower(), "")


def chosen(path: Path) -> Iterator[Path]:
    """The files to read: a file itself, or those of a folder, in order.

    Hidden folders, those of builds, and links to folders are passed over; of links to files, those that lead to a file
    of the same folder, which is met by itself.

    Raises:
        OSError: a folder can't be read.
    """
    if not path.is_dir():
        yield path
        return
    root = Path(os.path.realpath(path))
    for place, folders, names in os.walk(path, onerror=_raised):
        folders[:] = sorted(name for name in folders if not _is_passed_over(name))
        for name in sorted(names):
            file = Path(place, name)
            inside = file.is_symlink() and root in Path(os.path.realpath(file)).parents
            if kind(file) and file.is_file() and not inside:
                yield file


def write(path: Path, before: bytes, after: bytes) -> None:
    """Put a file's new text in its place, all at once; a link stays one, and so do the file's permissions.

    Raises:
        OSError: it can't be written, or isn't any more what it was.
    """
    target = Path(os.path.realpath(path))
    if target.read_bytes() != before:
        raise OSError(0, "it was changed by somebody else meanwhile")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        temporary.write_bytes(after)
        shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or name in _PASSED_OVER or name.endswith(".egg-info")


def _raised(error: OSError) -> None:
    raise error
