"""What happens to operators when a process forks, and when it ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch

_running = 0
_done = threading.Condition()


def keep_until_exit(library: torch.library.Library) -> None:
    """Keep what `library` has defined to the very end of the process.

    PyTorch takes a library's operators away in an exit handler, and once more when the object dies. Handlers that
    were registered earlier, and ``__del__``, would then find operators without a schema.
    """
    import ctypes

    for finalizer in _finalizers(library):
        finalizer.atexit = False
    for thing in (library, library.m):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _finalizers(library: torch.library.Library) -> list[Any]:
    """PyTorch's own finalizer of the library: it keeps none that could be asked for."""
    import weakref

    registry: dict[Any, Any] = getattr(weakref.finalize, "_registry", {})
    return [finalizer for finalizer, info in list(registry.items()) if info.weakref() is library]


@contextlib.contextmanager
def under_way() -> Iterator[None]:
    """A build that a call waits for: the interpreter doesn't go away beneath it.

    The thread is in C++, called by Python, calling Python: when the interpreter ends such a daemon thread, it unwinds
    through frames that can't be unwound, and the process aborts.
    """
    global _running  # noqa: PLW0603 - one number for the process
    with _done:
        _running += 1
    try:
        yield
    finally:
        with _done:
            _running -= 1
            _done.notify_all()


@atexit.register
def _wait_for_builds() -> None:
    if not _running:
        return
    with _done:
        _done.wait_for(lambda: not _running)
    time.sleep(0.05)  # for the call itself to get back to Python


def renew_in_forks(module: dict[str, Any], name: str, *, seconds: float = 2.0) -> None:
    """Give a forked child a lock of its own in `module[name]`: the thread that holds the old one isn't there.

    A fork waits up to `seconds` for that thread, so that the child finds nothing half done if that can be had.
    """
    held: list[Any] = []

    def before() -> None:
        lock = module[name]
        if lock.acquire(timeout=seconds):
            held.append(lock)

    def after() -> None:
        if held:
            held.pop().release()

    def in_child() -> None:
        held.clear()
        module[name] = threading.RLock()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=after, after_in_child=in_child)


def _forget_builds() -> None:
    global _running, _done
    _running, _done = 0, threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_builds)
