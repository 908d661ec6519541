"""A worker process as the process sees it that supervises it: its events, and what it writes on stdout and stderr."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import selectors
import signal
import sys
from typing import Any

from opwright.check.calls.last_call import CallMemory
from opwright.check.isolation.fork_server import keep_server, take_server
from opwright.check.isolation.worker import Job

_MAX_PARTS = 64
"""Reads in a row: a kernel may print faster than this process reads."""
_MAX_WORDS, _MAX_LINES = 2000, 5


class WorkerProcess:
    """A worker process, its events and what it writes on stdout and stderr."""

    def __init__(self, job: Job, memory: CallMemory) -> None:
        self._events, sending = os.pipe()
        self._said, saying = os.pipe()
        self._rest, self._words = b"", b""
        self._open = selectors.DefaultSelector()
        for descriptor in (self._events, self._said):
            os.set_blocking(descriptor, False)
            self._open.register(descriptor, selectors.EVENT_READ)
        content, descriptors = pickle.dumps(job), (saying, sending, memory.descriptor)
        self._server = take_server(saying)
        try:
            self._server.fork(content, descriptors)
        except BrokenPipeError:
            self._server = take_server(saying)
            self._server.fork(content, descriptors)
        os.close(sending)
        os.close(saying)

    @property
    def process(self) -> int:
        """The worker process."""
        return self._server.process

    @property
    def ended(self) -> bool:
        """Whether the process has ended; events may still be in the pipe."""
        return self._server.has_ended()

    @property
    def status(self) -> int:
        """How it ended, as in `subprocess`."""
        assert self._server.status is not None  # noqa: S101 - it has ended
        return self._server.status

    def hear(self, seconds: float) -> list[dict[str, Any]]:
        """Return the events that arrive within some seconds; pass on what is written on stderr meanwhile."""
        ready = {key.fd for key, _ in self._open.select(seconds)}
        *lines, self._rest = (self._rest + self._read(self._events, ready)).split(b"\n")
        said = self._read(self._said, ready)
        self._words = ((b"" if lines else self._words) + said)[-_MAX_WORDS:]
        if said:
            sys.stderr.write(said.decode(errors="replace"))
            sys.stderr.flush()
        return [json.loads(line) for line in lines]

    def _read(self, descriptor: int, ready: set[int]) -> bytes:
        """Return what is in a pipe, and forget a pipe that is at its end."""
        content = _read(descriptor) if descriptor in ready else b""
        if descriptor in ready and not content:
            self._open.unregister(descriptor)
        return content

    def words(self) -> str:
        """Return the last lines that were written on stderr."""
        return "\n".join(self._words.decode(errors="replace").strip().splitlines()[-_MAX_LINES:])

    def close(self) -> None:
        """End the process and everything that it started."""
        self._server.has_ended()  # it may have been forked just now
        if self._server.worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._server.worker, signal.SIGKILL)
        self._server.end_worker()
        keep_server(self._server)
        self._open.close()
        os.close(self._events)
        os.close(self._said)


def _read(descriptor: int) -> bytes:
    """Return what is in a pipe; empty at its end."""
    parts: list[bytes] = []
    with contextlib.suppress(BlockingIOError):
        while len(parts) < _MAX_PARTS and (part := os.read(descriptor, 1 << 16)):
            parts.append(part)
    return b"".join(parts)
