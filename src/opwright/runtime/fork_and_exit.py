"""Handling of forks and of the interpreter's exit: locks, builds in progress, lifetime of operators."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from opwright.runtime.torch_internals import owners

_running = 0
_done = threading.Condition()


def keep_until_exit(library: torch.library.Library) -> None:
    """Keep the operators that `library` defines until the process ends.

    PyTorch removes a library's operators in an exit handler, and again when the library object is destroyed. Exit
    handlers that were registered earlier, and ``__del__``, would then find operators without a schema.
    """
    import ctypes

    for finalizer in _finalizers(library):
        finalizer.atexit = False
    for thing in owners(library):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _finalizers(library: torch.library.Library) -> list[Any]:
    """Return the finalizers that PyTorch registered for the library; PyTorch keeps no reference to them."""
    import weakref

    registry: dict[Any, Any] = getattr(weakref.finalize, "_registry", {})
    return [finalizer for finalizer, info in list(registry.items()) if info.weakref() is library]


@contextlib.contextmanager
def under_way() -> Iterator[None]:
    """Keep the interpreter from ending during a build that a call waits for.

    The thread's stack is Python, C++, Python. If it is a daemon thread, the interpreter unwinds it at exit; the C++
    frames can't be unwound, and the process aborts.
    """
    global _running  # noqa: PLW0603 - one counter for the process
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
    time.sleep(0.05)  # time for the call itself to return to Python


def renew_in_forks(module: dict[str, Any], name: str, *, seconds: float = 2.0) -> None:
    """Replace the lock in `module[name]` in forked children: the thread that holds it doesn't exist there.

    A fork first waits up to `seconds` for the lock, so that the child normally doesn't see half-finished state.
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


def keep_to_the_end(tensors: Iterable[torch.Tensor | None]) -> None:
    """Leak a reference to each tensor that a Python kernel returns, if the interpreter is shutting down.

    At that point PyTorch no longer records that C++ also owns the tensor, and aborts when its Python object dies.
    """
    if sys.is_finalizing():
        for tensor in tensors:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
