"""Asking other programs: never without end, and whatever they do, there is an answer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

SECONDS = 10.0
"""For which a program may think, unless somebody says otherwise."""

_OUTPUT = 1 << 20

Value = TypeVar("Value")


class Answer(NamedTuple):
    """What a program said.

    Attributes:
        status: its exit status; negative: the signal that ended it; None: it didn't run to its end.
        text: its output and its errors, together.
        problem: why it didn't run to its end; else empty.
    """

    status: int | None
    text: str
    problem: str = ""

    @property
    def why(self) -> str:
        """What went wrong, in one line."""
        if self.problem:
            return self.problem
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        lines = [line for line in lines if not line.startswith("collect2:")] or lines  # that only says who failed
        said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it said nothing")
        ended = f"signal {-self.status}" if self.status is not None and self.status < 0 else f"status {self.status}"
        return f"{said[:300]} ({ended})"


def ask(
    command: Sequence[str],
    *,
    seconds: float = SECONDS,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> Answer:
    """Run `command` and wait for it, at most so long; then it is killed, with all that it has started.

    Args:
        command: the program and its arguments.
        seconds: how long it may take.
        environment: variables to set besides those that there are.
        folder: where it runs.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Answer(None, "", f"it can't be started: {getattr(error, 'strerror', None) or error}")
    with process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            return Answer(None, "", f"it didn't answer within {seconds:g} seconds")
    return Answer(process.returncode, output[:_OUTPUT].decode("utf-8", "replace"))


def ask_python(code: str, *, seconds: float = SECONDS) -> Answer:
    """Run `code` in a fresh Python that finds the same packages as this one."""
    start = f"import sys\nsys.path[:] = {[str(path) for path in sys.path]!r}\n"
    return ask([sys.executable or "python3", "-c", start + code], seconds=seconds)


class Later(Generic[Value]):
    """Something that is being found out in the meantime."""

    def __init__(self, find: Callable[[], Value]) -> None:
        """Begin; it may never come to an end, which keeps nobody from ending this process."""
        self._found: list[Value] = []
        self._error: BaseException | None = None
        self._find = find
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._find())
        except BaseException as error:  # noqa: BLE001 - raised again where the value is asked for
            self._error = error

    def get(self, seconds: float | None = None) -> Value:
        """What was found; waits for it.

        Raises:
            TimeoutError: it isn't there within so many seconds.
        """
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        if not self._found:
            raise TimeoutError(f"no answer within {seconds:g} seconds" if seconds is not None else "no answer")
        return self._found[0]


class Once(Generic[Value]):
    """Something that is found out when it is first asked for, for all who ask."""

    def __init__(self, find: Callable[[], Value]) -> None:
        """`find`: how."""
        self._find, self._lock = find, threading.Lock()
        self._later: Later[Value] | None = None

    def get(self) -> Value:
        """What was found; waits for it."""
        with self._lock:
            self._later = self._later or Later(self._find)
        return self._later.get()
