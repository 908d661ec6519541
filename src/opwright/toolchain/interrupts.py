"""A signal that ends the process ends its compilers, too."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEADLY = ("SIGTERM", "SIGHUP")


class _SignalledError(BaseException):
    """Raised by a handler of ours, so that everything is cleared up on the way out."""


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP are exceptions; once all is cleared up they end the process as ever.

    Only in the main thread, where Python's handlers run, and only for signals that nobody else handles. Ctrl-C is an
    exception already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    from opwright.toolchain.process import kill_running

    met: list[int] = []

    def unwind(number: int, _frame: Any) -> None:
        met.append(number)
        kill_running()  # here, since the exception may be lost: then what waits for compilers goes on by itself
        raise _SignalledError(number)

    numbers = [number for name in _DEADLY if (number := getattr(signal, name, None)) is not None]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, unwind)
        yield
    finally:
        _give_back(ours)
        if met:  # also where the exception was lost: Python ignores those that strike in a __del__
            os.kill(os.getpid(), met[0])


def _give_back(numbers: list[int]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
