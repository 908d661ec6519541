"""The fork server: a process that has imported PyTorch and done nothing else, whose forks become workers.

Importing PyTorch takes seconds, and a fork milliseconds, so the next check of a process, or the next worker after a
crash, begins at once. Each worker is a new process: nothing that another one did is in it. The server never calls an
operator, and has no threads that PyTorch would miss in a fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from opwright.check.isolation.worker import end_with_parent, main

IDLE_SECONDS = 300.0
"""Time after which a server that nobody asks ends, and frees its memory."""
_MAIN = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from opwright.check.isolation import fork_server; "
_PASSED_ON = ("PYTEST_CURRENT_TEST",)
"""Environment variables that change from call to call, and that no library reads when it is loaded."""
_MESSAGE = 1 << 16
_kept = threading.local()  # the kernel ends a server with the thread that started it, so no other thread may use it


def take_server(output: int) -> ForkServer:
    """Return the server that this thread has kept, or start one.

    It is a new one if the last one was started with another environment, ``sys.path`` or working directory.

    Args:
        output: descriptor for what a new server writes while it imports PyTorch.
    """
    kept: ForkServer | None = _kept.__dict__.pop("server", None)
    if kept and kept.can_be_used():
        return kept
    if kept:
        kept.close()
    return ForkServer(output)


def keep_server(server: ForkServer) -> None:
    """Keep a server, whose worker has ended, for the next call of `take_server`."""
    _kept.server = server


class ForkServer:
    """A fork server, and the worker that it has forked last.

    Attributes:
        worker: process of the worker; None until it is forked.
        status: how the worker ended, as in `subprocess`; None while it runs.
    """

    def __init__(self, output: int) -> None:
        self.worker: int | None = None
        self.status: int | None = None
        self._around = _surroundings()
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = f"{_MAIN}fork_server.serve({os.getpid()}, {theirs.fileno()}, {IDLE_SECONDS})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", command, json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for this process, which ends that one
            )
        self.close = weakref.finalize(self, _end, os.getpid(), self._connection, self._process)
        """End the server. So does the end of this process or thread."""

    @property
    def process(self) -> int:
        """The process that works: the worker, or the server until there is one."""
        return self.worker or self._process.pid

    def can_be_used(self) -> bool:
        """Return whether it runs, belongs to this process, and a new one would be the same."""
        return self._around == _surroundings() and self._process.poll() is None

    def fork(self, job: bytes, descriptors: Sequence[int]) -> None:
        """Have it fork into a worker.

        Args:
            job: what the worker is to find on stdin.
            descriptors: for the worker's output, its events, and the memory for the last call.

        Raises:
            BrokenPipeError: the server has just ended, because nobody asked it for so long.
        """
        self.worker = self.status = None
        variables = {name: os.environ.get(name) for name in _PASSED_ON}
        with tempfile.TemporaryFile() as file:
            file.write(job)
            file.seek(0)
            socket.send_fds(self._connection, [json.dumps(variables).encode()], [file.fileno(), *descriptors])

    def has_ended(self) -> bool:
        """Return whether the worker has ended, or the server before it forked."""
        while self.status is None and select.select([self._connection], [], [], 0)[0]:
            self._hear()
        return self.status is not None

    def end_worker(self) -> None:
        """Let go of the process id of a worker that has been killed; if there is none yet, end the server."""
        if self.worker is None:
            self.close()
            return
        while self.status is None:
            self._hear()
        with contextlib.suppress(OSError):
            self._connection.send(b"reap")

    def _hear(self) -> None:
        """Wait for a message of the server: the worker's process or its status."""
        try:
            message = self._connection.recv(_MESSAGE)
        except ConnectionResetError:
            message = b""
        if not message:  # it was ended itself: by the system, or by a library that can't be imported
            self.status = self._process.wait()
        elif self.worker is None:
            self.worker = int(message)
        else:
            self.status = int(message)


def _surroundings() -> tuple[Any, ...]:
    """Return what a process inherits from this one and its libraries may read as they are loaded."""
    where = os.stat(".")
    environment = {name: value for name, value in os.environ.items() if name not in _PASSED_ON}
    return os.getpid(), environment, tuple(sys.path), (where.st_dev, where.st_ino), os.sched_getaffinity(0)


def _end(owner: int, connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End a server; in a fork of its owner, only forget it."""
    connection.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()
    else:
        process.returncode = 0  # no child of this process


def serve(parent: int, descriptor: int, idle: float) -> None:
    """Fork into workers, one at a time, as `parent` asks for them.

    Args:
        parent: the process that started this one; this one ends with it.
        descriptor: the socket.
        idle: seconds without a request after which this process ends.
    """
    end_with_parent(parent)
    with contextlib.suppress(Exception):  # the worker meets the same error, and tells it
        _preload()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    connection = socket.socket(fileno=descriptor)
    while True:
        if not select.select([connection], [], [], idle)[0]:
            connection.shutdown(socket.SHUT_RD)  # from now on asking fails; what was asked before is still here
        message, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE, 4)
        if not message:
            break
        if not (worker := os.fork()):
            connection.close()
            _become_worker(json.loads(message), *descriptors)
        _lead_group(worker)
        for each in descriptors:
            os.close(each)
        connection.send(str(worker).encode())
        ended = os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)  # its id stays its own until it has been killed
        assert ended is not None  # noqa: S101 - it is waited for
        connection.send(str(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status).encode())
        connection.recv(_MESSAGE)
        os.waitpid(worker, 0)


def _preload() -> None:
    """Import what every worker needs."""
    import gc

    import hypothesis  # noqa: F401 - preloaded

    import opwright.check.runner
    import opwright.check.validation  # noqa: F401 - preloaded

    gc.collect()
    gc.freeze()  # collections in a worker don't copy what is shared


def _become_worker(variables: dict[str, str | None], job: int, output: int, events: int, memory: int) -> None:
    """Do a job in this fork, and end it."""
    _lead_group(0)
    for descriptor, standard in ((job, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, standard)
    os.close(job)
    os.close(output)
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    importlib.invalidate_caches()  # files may be new since this process was started
    main(os.getppid(), events, memory)


def _lead_group(process: int) -> None:
    """Give a process a group of its own. It and its parent both do it, since neither knows who is first."""
    with contextlib.suppress(OSError):
        os.setpgid(process, process)
