"""Folders for the time of one build, and what is left of those whose builder was killed."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = "OPWRIGHT_SCRATCH"
"""In the environment of every compiler: the folder of the build that started it. So a stray one is known."""

_ABANDONED_AFTER = 24 * 3600.0


@contextlib.contextmanager
def scratch(folder: Path, *, alone: bool) -> Iterator[Path]:
    """A fresh folder inside ``folder`` that is gone afterwards.

    Args:
        folder: where the result will be renamed to (the same file system).
        alone: the caller holds the folder's lock, so whatever an earlier, killed holder left may go.
    """
    if alone:
        clear(folder)
    work = folder / f"{'.work-' if alone else '.free-'}{os.getpid()}-{os.urandom(4).hex()}"
    work.mkdir(mode=0o700)
    try:
        clear_abandoned(folder, os.stat(work).st_mtime)
        yield work
    finally:
        remove(work)


def clear(folder: Path) -> None:
    """Remove what killed holders of ``folder``'s lock left, and stop the compilers that still work in there."""
    left = sorted(folder.glob(".work-*"))
    kill_strays(left)
    for each in left:
        remove(each)


def clear_abandoned(folder: Path, now: float) -> None:
    """Remove what builders without a lock left in ``folder`` more than a day before ``now`` (the file system's)."""
    for each in folder.glob(".free-*"):
        with contextlib.suppress(OSError):
            if now - os.stat(each).st_mtime > _ABANDONED_AFTER:
                remove(each)


def remove(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, as far as that is possible."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def kill_strays(works: list[Path]) -> int:
    """Kill the processes that builds in the folders ``works`` started and that have outlived them; how many.

    Found by their environment (Linux; elsewhere they end by themselves), since their ids may be others' by now.
    """
    marks = {os.fsencode(f"{MARK}={work}") for work in works}
    if not marks or not os.path.isdir("/proc/self"):
        return 0
    killed = 0
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # not ours, or gone meanwhile
            with open(f"/proc/{name}/environ", "rb") as file:
                is_stray = not marks.isdisjoint(file.read().split(b"\0"))
            if is_stray:
                os.kill(int(name), signal.SIGKILL)
                killed += 1
    return killed
