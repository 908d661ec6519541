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

KILLED = "killed by "
"""How the text begins that says what killed a copy."""


def survived(action: Callable[[], str]) -> str:
    """What `action` returns, run in a forked process; what killed that one, if something did.

    Raises:
        TimeoutError: it took longer than 20 s; a forked process may wait for threads that it hasn't got.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the copy starts none
        child = os.fork()
    if child == 0:
        _run(action, writing)
    os.close(writing)
    text = _read(child, reading)
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


def _read(child: int, reading: int) -> str:
    parts: list[bytes] = []
    ends = time.monotonic() + _SECONDS
    try:
        while select.select([reading], [], [], max(0.0, ends - time.monotonic()))[0]:
            if not (part := os.read(reading, 1 << 16)):
                return b"".join(parts).decode(errors="replace")
            parts.append(part)
    finally:
        os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError(f"no answer within {_SECONDS:.0f} s")
