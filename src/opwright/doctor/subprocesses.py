"""Child processes with a time limit, and calls in background threads."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

SECONDS = 10.0
"""Time limit of a program, unless the caller sets another one."""

_MAX_OUTPUT = 1 << 20

Value = TypeVar("Value")


class Answer(NamedTuple):
    """How a program ended, and its output.

    Attributes:
        status: its exit status; negative: the signal that ended it; None: it didn't finish.
        text: its standard output and standard error, together.
        problem: why it didn't finish; else empty.
    """

    status: int | None
    text: str
    problem: str = ""

    @property
    def why(self) -> str:
        """The error, in one line."""
        if self.problem:
            return self.problem
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        lines = [line for line in lines if not line.startswith("collect2:")] or lines  # names only the program
        message = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it said nothing")
        ended = f"signal {-self.status}" if self.status is not None and self.status < 0 else f"status {self.status}"
        return f"{message[:300]} ({ended})"


def ask(
    command: Sequence[str],
    *,
    seconds: float = SECONDS,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> Answer:
    """Run `command` with a time limit, after which it is killed with all processes that it has started.

    Args:
        command: the program and its arguments.
        seconds: the time limit.
        environment: variables that are added to those of this process.
        folder: the working directory.
    """
    variables = {**os.environ, "LC_ALL": "C", **(environment or {})}
    try:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
            env=variables, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return Answer(None, "", f"it can't be started: {getattr(error, 'strerror', None) or error}")
    with process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            return Answer(None, "", f"it didn't answer within {seconds:g} seconds")
    return Answer(process.returncode, output[:_MAX_OUTPUT].decode("utf-8", "replace"))


def ask_python(code: str, *, seconds: float = SECONDS) -> Answer:
    """Run `code` in a new Python process that finds the same packages as this one."""
    start = f"import sys\nsys.path[:] = {[str(path) for path in sys.path]!r}\n"
    return ask([sys.executable or "python3", "-c", start + code], seconds=seconds)


def in_background(function: Callable[[], Value]) -> Future[Value]:
    """Call `function` in a daemon thread, so that this process can end even if it never returns."""
    future: Future[Value] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again by `Future.result`
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def once(function: Callable[[], Value]) -> Callable[[], Value]:
    """Return a function that calls `function` only once, also if several threads call it at the same time."""
    lock, cached = threading.Lock(), functools.cache(function)

    def call() -> Value:
        with lock:
            return cached()

    return call
