"""Something that may crash, run in a copy of this process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import warnings
from collections.abc import Callable

_SECONDS = 20.0

_COMPUTED = 0.1
"""The share of the time that it takes to be computing: others want the processor, too, and who waits uses none."""

KILLED = "killed by "
"""How the text begins that says what killed a copy."""


class BusyError(TimeoutError):
    """It took too long, and computed: it didn't wait for threads that a forked process hasn't got."""


def survived(action: Callable[[], str], seconds: float = _SECONDS) -> str:
    """What `action` returns, run in a forked process; what killed that one, if something did.

    Raises:
        BusyError: it took longer than `seconds`, and computed.
        TimeoutError: it took longer; a forked process may wait for threads that it hasn't got.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the copy starts none
        child = os.fork()
    if child == 0:
        _run(action, writing)
    os.close(writing)
    text = _read(child, reading, seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"{KILLED}{signal.Signals(os.WTERMSIG(status)).name}"
    return text


def _run(action: Callable[[], str], writing: int) -> None:
    """In the copy: never returns, and ends without the clean-up that belongs to the original."""
    text = ""
    try:
        import faulthandler
        import resource

        import torch

        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        torch.set_num_threads(1)
        text = action()
    except BaseException as error:  # noqa: BLE001 - told, whatever it is
        text = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        os.write(writing, text.encode()[:60_000])
    os._exit(0)


def _read(child: int, reading: int, seconds: float) -> str:
    parts: list[bytes] = []
    ends = time.monotonic() + seconds
    try:
        while select.select([reading], [], [], max(0.0, ends - time.monotonic()))[0]:
            if not (part := os.read(reading, 1 << 16)):
                return b"".join(parts).decode(errors="replace")
            parts.append(part)
    finally:
        os.close(reading)
    os.kill(child, signal.SIGKILL)
    used = os.wait4(child, 0)[2]
    computed = used.ru_utime + used.ru_stime > seconds * _COMPUTED
    raise (BusyError if computed else TimeoutError)(f"no answer within {seconds:.0f} s")
