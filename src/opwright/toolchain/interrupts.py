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

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP are exceptions; once all is cleared up they end the process as ever.

    Only in the main thread, where Python's handlers run, and only for signals that nobody else handles. Ctrl-C is an
    exception already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def unwind(number: int, _frame: Any) -> None:
        raise _SignalledError(number)

    numbers = [number for name in _DEADLY if (number := getattr(signal, name, None)) is not None]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, unwind)
        yield
    except _SignalledError as error:
        _give_back(ours)
        os.kill(os.getpid(), error.number)
        raise
    finally:
        _give_back(ours)


def _give_back(numbers: list[int]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
