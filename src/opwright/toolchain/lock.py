"""One builder at a time for one key; the kernel releases a dead builder's lock.

A ``flock``, polled: it goes with the process that holds it, however that ends. Where a file system has none, or
where somebody holds it for ever, builds go on without.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_POLL_SECONDS = 0.02
_ATTEMPTS = 10
_NO_LOCK_FILE = (errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO)

_held: set[int] = set()


@contextlib.contextmanager
def locked(path: Path, seconds: float, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold the lock file ``path``; yields whether it could be had.

    Not having it is not an error (some network file systems know no locks): a result is published by one
    rename, so two builders only waste time.

    Args:
        path: the lock file, made where it is missing and left in place.
        seconds: how long to wait for another builder.
        waiting: called once when there is one.

    Raises:
        OSError: its folder is gone, or the disk is full.
    """
    descriptor, is_taken = _take(path)
    if is_taken is None:
        waiting()
        end = time.monotonic() + seconds
        while is_taken is None and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            descriptor, is_taken = _take(path)
    try:
        yield bool(is_taken)
    finally:
        if is_taken:
            _release(descriptor)


@contextlib.contextmanager
def unless_held(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` if nobody else does; yields whether nobody does (also where there are no locks).

    Raises:
        OSError: its folder is gone, or the disk is full.
    """
    descriptor, is_taken = _take(path)
    try:
        yield is_taken is not None
    finally:
        if is_taken:
            _release(descriptor)


def _take(path: Path) -> tuple[int, bool | None]:
    """Take the lock if it is free: its descriptor, and True. None: somebody has it; False: there are no locks here."""
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno in _NO_LOCK_FILE:
                return -1, False
            raise
        _held.add(descriptor)
        is_taken = _try(descriptor)
        # Whoever had it may have removed the file: the next one has another (unless inodes mean nothing here).
        if is_taken and attempt < _ATTEMPTS - 1 and not _is_at(descriptor, path):
            _release(descriptor)
            continue
        break
    if not is_taken:
        _close(descriptor)
    return descriptor, is_taken


def _try(descriptor: int) -> bool | None:
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # some file systems say EACCES
        return None
    except (ImportError, OSError):
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def _release(descriptor: int) -> None:
    if descriptor not in _held:  # this is a fork of the process that took it
        return
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
    _close(descriptor)


def _close(descriptor: int) -> None:
    _held.discard(descriptor)
    os.close(descriptor)


def _forget() -> None:
    """A forked child has its parent's locks, too, and would keep them when the parent is killed."""
    for descriptor in tuple(_held):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
