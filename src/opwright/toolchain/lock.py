"""One builder at a time for one key; the kernel releases a dead builder's lock."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, seconds: float, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold the lock file ``path``; yields whether it could be had.

    Not having it is not an error (some network file systems know no locks): a result is published by one
    rename, so two builders only waste time.

    Args:
        path: the lock file, made where it is missing and left in place.
        seconds: how long to wait for another builder.
        waiting: called once when there is one.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        taken = _try(descriptor)
        if taken is None:
            waiting()
            with _patiently(path, seconds) as held:
                yield held
        else:
            yield taken
    finally:
        _release(descriptor)


@contextlib.contextmanager
def _patiently(path: Path, seconds: float) -> Iterator[bool]:
    import filelock  # it knows how to wait; imported only then, since that takes a third of a small compilation

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=seconds, poll_interval=0.02)
    except (filelock.Timeout, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _try(descriptor: int) -> bool | None:
    """Take the ``flock`` that filelock takes, too. None: somebody has it; False: there are no locks here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except (ImportError, OSError):
        return False
    return True


def _release(descriptor: int) -> None:
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough while a forked child has it, too
    os.close(descriptor)
