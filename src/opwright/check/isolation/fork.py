"""Forked children: run actions that may crash, or not return, in a fork of this process."""

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
"""Prefix of the text that names the signal that killed the child."""


def run_in_fork(action: Callable[[], str], seconds: float = _SECONDS) -> str:
    """Run `action` in a forked child; return its result, or the signal that killed the child.

    Raises:
        TimeoutError: it took longer; a forked process may wait for threads that it lacks.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forks with threads: the child starts none
        child = os.fork()
    if child == 0:
        _child_main(action, writing)
    os.close(writing)
    text = _parent_read(child, reading, seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"{KILLED}{signal.Signals(os.WTERMSIG(status)).name}"
    return text


def _child_main(action: Callable[[], str], writing: int) -> None:
    """Run `action` in the child; never return, and exit without the clean-up that belongs to the parent."""
    text = ""
    try:
        import faulthandler
        import resource

        import torch

        from opwright.check.calls.last_call import stop_recording

        stop_recording()
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        torch.set_num_threads(1)
        text = action()
    except BaseException as error:  # noqa: BLE001 - every error is reported
        text = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        os.write(writing, text.encode()[:60_000])
    os._exit(0)


def _parent_read(child: int, reading: int, seconds: float) -> str:
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
    os.waitpid(child, 0)
    raise TimeoutError(f"no answer within {seconds:.0f} s")
