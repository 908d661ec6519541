"""What goes wrong in a function that C calls: nothing may be raised there, and nothing may be lost."""

from __future__ import annotations

import ctypes
import threading

_local = threading.local()


class Mark(ctypes.c_void_p):
    """The last argument of a callback, which says ``mark.reached_end = True`` when it has done its work.

    A signal (Ctrl-C) that arrives while a kernel runs is raised as soon as Python code runs in the main thread: at the
    first line of a callback, before any ``try``. ctypes prints the exception and returns 0, and the kernel would go
    on without what it asked for. It is noticed by what is left of the call then: its arguments.
    """

    reached_end = False

    def __del__(self) -> None:
        """Was the callback cut short?"""
        if not self.reached_end:
            note(KeyboardInterrupt("a signal came while a kernel ran"))


def note(error: BaseException) -> None:
    """Keep the error until the kernel has returned; the first one in a thread counts."""
    if getattr(_local, "error", None) is None:
        _local.error = error


def taken() -> BaseException | None:
    """The error that was noted in this thread, which is forgotten thereby."""
    error: BaseException | None = getattr(_local, "error", None)
    _local.error = None
    return error
