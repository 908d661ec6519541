"""Running compilers: limited in number and time, and killed when this process ends."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from opwright.errors import ToolchainError
from opwright.toolchain.build.limits import jobs, time_limit
from opwright.toolchain.cache.scratch import MARK
from opwright.toolchain.compilers.compiler import compiler_environment

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

_THREADS = 64
_SECONDS_TO_DIE = 5.0
_SECONDS_ASLEEP = 0.2

Result = TypeVar("Result")


class TimeoutKilledError(Exception):
    """A compiler exceeded its time limit and was killed."""


_ALL: weakref.WeakSet[Processes] = weakref.WeakSet()
_STOPPING = threading.Event()


def stop_all() -> None:
    """Kill all compilers of this process and start no more, for a program that ends while its threads build."""
    _STOPPING.set()
    for processes in tuple(_ALL):
        processes.stop()


def kill_running() -> None:
    """Kill all compilers of this process and stop their builds; takes no lock, so signal handlers can call it."""
    for processes in tuple(_ALL):
        processes.kill()


class Processes:
    """The compiler processes of one call: at most `jobs` at once, and killed together."""

    def __init__(self) -> None:
        """Read the limits from the environment."""
        self._slots = threading.BoundedSemaphore(jobs())
        self._limit = time_limit()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        _ALL.add(self)
        if _STOPPING.is_set():  # checked after the addition, so that a concurrent `stop_all` can't miss this object
            self._stopped = True

    def run(self, command: Sequence[str], log: Path, folder: Path, *, limit: float | None = None) -> int:
        """Run ``command`` with its output in ``log`` and its temporary files in ``folder``; return its exit status.

        Raises:
            ToolchainError: the command can't be started.
            TimeoutKilledError: the command was killed after ``limit`` seconds (by default, `time_limit`).
        """
        seconds = self._limit if limit is None else limit
        with self._slots:
            process = self._start(command, log, folder)
            try:
                return self._wait(process, seconds)
            except BaseException:
                _kill(process)
                process.wait()
                raise
            finally:
                with self._lock:
                    self._running.discard(process)

    def _wait(self, process: subprocess.Popen[bytes], seconds: float) -> int:
        late = threading.Event()
        # not process.wait(timeout), which polls every 50 ms: a small compilation takes no longer than that
        timer = threading.Timer(seconds, _kill, (process, late))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # Python 3.12 and newer start no thread while the interpreter shuts down
            return self._wait_alone(process, seconds)
        try:
            _wait_and_kill_rest(process)
        finally:
            timer.cancel()
        status = process.wait()
        if late.is_set():
            raise TimeoutKilledError(f"{seconds:g} seconds")
        return status

    def _wait_alone(self, process: subprocess.Popen[bytes], seconds: float) -> int:
        from subprocess import TimeoutExpired

        try:
            return process.wait(seconds)
        except TimeoutExpired as error:
            raise TimeoutKilledError(f"{seconds:g} seconds") from error

    def kill(self) -> None:
        """Kill the running compilers and start no more; takes no lock."""
        self._stopped = True
        for process in tuple(self._running):
            _kill(process)

    def stop(self) -> None:
        """Kill the running compilers, wait for their end, and start no more."""
        with self._lock:
            self._stopped = True
            running = tuple(self._running)
        for process in running:
            _kill(process)
        for process in running:
            with contextlib.suppress(Exception):  # the process hangs in the kernel (a dead file server)
                process.wait(timeout=_SECONDS_TO_DIE)

    def _start(self, command: Sequence[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
        """Start ``command`` in a new thread: signal handlers can't raise there before the process is registered."""
        environment = compiler_environment() | {"LC_ALL": "C", MARK: str(folder)}  # English: the output is parsed
        if "%" not in str(folder):  # clang would replace it with digits
            environment["TMPDIR"] = str(folder)  # removed afterwards, even if the compiler was killed
        started: list[subprocess.Popen[bytes]] = []
        problems: list[BaseException] = []

        def start() -> None:
            """Start the command and register it; a problem is raised in the calling thread."""
            try:
                with self._lock:
                    if not self._stopped:
                        started.append(_popen(command, log, environment))
                        self._running.add(started[0])
                if started and self._stopped:  # `kill` was called meanwhile: it takes no lock
                    _kill(started[0])
            except BaseException as error:  # noqa: BLE001 - raised again below
                problems.append(error)

        thread = threading.Thread(target=start, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # Python 3.12 and newer start no thread while the interpreter shuts down
            start()
        else:
            thread.join()
        if problems:
            raise problems[0]
        if not started:
            raise ToolchainError("the build was interrupted")
        return started[0]


def _popen(command: Sequence[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    import subprocess

    with open(log, "wb") as output:
        try:
            return subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ToolchainError(
                f"can't start {command[0]}: {error.strerror or error}\n"
                "  likely fix: try again if it is just being updated; else set CC and CXX"
            ) from error


def _wait_and_kill_rest(process: subprocess.Popen[bytes]) -> None:
    """Wait for a compiler, then kill its remaining children: nothing must write after the compiler has ended.

    The children are killed before the compiler is reaped, since its process id can't be reused until then.
    """
    if not hasattr(os, "waitid"):
        process.wait()
        return
    with contextlib.suppress(ChildProcessError):  # reaped by another thread, or by the system (SIGCHLD is ignored)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        _kill(process)


def _kill(process: subprocess.Popen[bytes], timed_out: threading.Event | None = None) -> None:
    """Kill a compiler with all processes that it started (it leads its own session and process group)."""
    if timed_out:
        timed_out.set()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def settled(futures: Sequence[Future[Result]]) -> set[Future[Result]]:
    """Wait until all of ``futures`` are done or one has failed; return the finished ones.

    The wait wakes up periodically: a signal that arrives just before the main thread sleeps is only handled when the
    thread wakes up.
    """
    from concurrent.futures import FIRST_EXCEPTION, wait

    while True:
        done, pending = wait(futures, _SECONDS_ASLEEP, FIRST_EXCEPTION)
        if not pending or any(future.exception() for future in done if not future.cancelled()):
            return done


def in_parallel(tasks: Sequence[Callable[[], Result]], processes: Processes) -> list[Result]:
    """Run ``tasks`` in parallel and return their results; the first error or Ctrl-C stops all compilers."""
    if len(tasks) <= 1:
        return [task() for task in tasks]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(tasks), _THREADS)) as pool:
        futures: list[Future[Result]] = []
        try:
            try:
                futures += [pool.submit(task) for task in tasks]
            except RuntimeError:  # no new threads while the interpreter shuts down
                return [task() for task in tasks]
            done = settled(futures)
            for future in futures:
                if future in done and (error := future.exception()) is not None:
                    raise error  # noqa: TRY301 - the handler below stops the others
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()
            raise


_DEADLY = ("SIGTERM", "SIGHUP")


class _SignalledError(BaseException):
    """Raised by our signal handler, so that context managers clean up before the process ends."""


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Raise SIGTERM and SIGHUP as exceptions inside the block; after the cleanup, the signal ends the process as usual.

    This works only in the main thread, in which Python runs handlers, and only for signals without another handler.
    Ctrl-C is an exception already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    received: list[int] = []

    def unwind(number: int, _frame: Any) -> None:
        received.append(number)
        kill_running()  # the exception may be lost; waiting threads then continue because their compilers ended
        raise _SignalledError(number)

    numbers = [number for name in _DEADLY if (number := getattr(signal, name, None)) is not None]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, unwind)
        yield
    finally:
        _restore_handlers(ours)
        if received:  # even if the exception was lost: Python ignores exceptions raised in a __del__
            os.kill(os.getpid(), received[0])


def _restore_handlers(numbers: list[int]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
