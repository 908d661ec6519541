"""What goes wrong in a function that C calls: nothing may be raised there, and nothing may be lost.

A signal (Ctrl-C) that arrives while a kernel runs is raised as soon as Python code runs in the main thread: at the
first line of a callback, before any ``try``. ctypes prints the exception and returns 0, and the kernel would go on
without what it asked for.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Iterator
from typing import Any

_local = threading.local()


class Mark(ctypes.c_void_p):
    """An argument of a callback, which says ``mark.reached_end = True`` when it has done its work or noted its error.

    That a callback was cut short is noticed by what is left of the call: its arguments.
    """

    reached_end = False

    def __del__(self) -> None:
        """Was it?"""
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


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Signals wait until the end: for callbacks without which a kernel would write where there is no memory."""
    if threading.current_thread() is not threading.main_thread():  # no signal is handled here
        yield
        return
    came: list[tuple[int, Any]] = []
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        with contextlib.ExitStack() as afterwards:  # every handler is put back, even where another one raises
            for number, handler in held.items():
                afterwards.callback(signal.signal, number, handler)
                signal.signal(number, lambda *signal_and_frame: came.append(signal_and_frame))
            yield
    finally:
        for came_number, frame in came:
            held[signal.Signals(came_number)](came_number, frame)
