"""A temporary folder for each build, and the removal of folders that killed builds left."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = "OPWRIGHT_SCRATCH"
"""The environment variable that names the build's folder in every compiler process; it identifies stray processes."""

_ABANDONED_AFTER = 24 * 3600.0


@contextlib.contextmanager
def scratch(folder: Path, *, alone: bool) -> Iterator[Path]:
    """Make a temporary folder inside ``folder``; remove it afterwards.

    Args:
        folder: the folder that the result will be moved to (it must be on the same file system for a rename).
        alone: whether the caller holds the folder's lock; if so, leftovers of earlier, killed holders are removed.
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
    """Remove leftovers of killed holders of ``folder``'s lock, and kill the compilers that still run there."""
    abandoned = sorted(folder.glob(".work-*"))
    kill_strays(abandoned)
    for work in abandoned:
        remove(work)


def clear_abandoned(folder: Path, now: float) -> None:
    """Delete what unlocked builds left behind more than a day before ``now`` (in the file system's time)."""
    for work in folder.glob(".free-*"):
        with contextlib.suppress(OSError):
            if now - os.stat(work).st_mtime > _ABANDONED_AFTER:
                remove(work)


def remove(path: Path) -> None:
    """Delete a file, or a folder with its contents, as far as possible; ignore errors."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def kill_strays(works: list[Path]) -> int:
    """Kill processes that outlived the builds in the folders ``works``; return their number.

    They are identified by their environment, since process ids may have been reused. Only on Linux; on other systems
    they end by themselves.
    """
    marks = {os.fsencode(f"{MARK}={work}") for work in works}
    if not marks or not os.path.isdir("/proc/self"):
        return 0
    killed = 0
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # another user's, or ended meanwhile
            with open(f"/proc/{name}/environ", "rb") as file:
                is_stray = not marks.isdisjoint(file.read().split(b"\0"))
            if is_stray:
                os.kill(int(name), signal.SIGKILL)
                killed += 1
    return killed
