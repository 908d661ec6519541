"""File locks: one process at a time builds one key.

The lock is a polled ``flock``. The kernel releases it when its process ends, even if that is killed. If the file
system has no locks, or another process never releases one, the build continues without. Why not filelock:
docs/decisions.md.
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

_POLL_SECONDS = (0.02, 0.25)
"""The least and the most time between two attempts to take a lock."""
_POLL_SHARE = 1 / 16
"""The time between two attempts, as a share of the time that was waited for: many processes may wait for long."""
_ATTEMPTS = 10
_NO_LOCK_FILE = (errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO)
_NO_LOCKS = -1

_held: set[int] = set()


@contextlib.contextmanager
def locked(path: Path, seconds: float, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold the lock file ``path``; yield whether it was acquired.

    Failing to acquire it is not an error (some network file systems have no locks): a result is published by one
    rename, so two concurrent builders only waste time.

    Args:
        path: the lock file, created if it is missing and left in place.
        seconds: how long to wait for another builder.
        on_wait: called once if another builder holds the lock.

    Raises:
        OSError: the lock file's folder was removed, or the disk is full.
    """
    descriptor = _take(path)
    if descriptor is None:
        on_wait()
        begun, (least, most) = time.monotonic(), _POLL_SECONDS
        while descriptor is None and (waited := time.monotonic() - begun) < seconds:
            time.sleep(min(max(least, waited * _POLL_SHARE), most))
            descriptor = _take(path)
    try:
        yield descriptor not in (None, _NO_LOCKS)
    finally:
        _release(descriptor)


@contextlib.contextmanager
def unless_held(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` if it is free; yield whether it is (True if the file system has no locks).

    Raises:
        OSError: the lock file's folder was removed, or the disk is full.
    """
    descriptor = _take(path)
    try:
        yield descriptor is not None
    finally:
        _release(descriptor)


def _take(path: Path) -> int | None:
    """Take the lock if it is free; return its descriptor, `_NO_LOCKS` without lock support, or None if it is held."""
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno in _NO_LOCK_FILE:
                return _NO_LOCKS
            raise
        _held.add(descriptor)
        try:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # some file systems report EACCES
            _close(descriptor)
            return None
        except (ImportError, OSError):
            _close(descriptor)
            return _NO_LOCKS
        # The previous holder may have removed the file: other processes would then lock a new file. Some file systems
        # have no stable inodes to compare, so the last attempt isn't checked.
        if attempt == _ATTEMPTS - 1 or _is_at(descriptor, path):
            break
        _release(descriptor)
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def _release(descriptor: int | None) -> None:
    if descriptor not in _held:  # a forked child holds no locks either
        return
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
    _close(descriptor)


def _close(descriptor: int) -> None:
    _held.discard(descriptor)
    os.close(descriptor)


def _close_in_child() -> None:
    """Close the parent's locks in a forked child, which would otherwise keep them after the parent is killed."""
    for descriptor in tuple(_held):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
