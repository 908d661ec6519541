"""Running compilers: bounded in number, in time, and gone when we are."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import weakref
from typing import TYPE_CHECKING, TypeVar

from opwright.errors import ToolchainError
from opwright.toolchain import cgroups
from opwright.toolchain.scratch import MARK

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

_MEMORY_PER_COMPILER = 1 << 30
_PLENTY = 64 << 30
_DEFAULT_SECONDS = 900.0
_THREADS = 64
_SECONDS_TO_DIE = 5.0
_SECONDS_ASLEEP = 0.2

Result = TypeVar("Result")


def jobs() -> int:
    """How many compilers may run at once: ``MAX_JOBS``, else what cores and memory allow, a container's limits too.

    Raises:
        ToolchainError: ``MAX_JOBS`` is no positive number.
    """
    asked = os.environ.get("MAX_JOBS", "").strip()
    if asked:
        if not asked.isdecimal() or int(asked) == 0:
            raise ToolchainError(f"MAX_JOBS={asked!r}: expected a positive whole number\n  likely fix: MAX_JOBS=4")
        return int(asked)
    return max(1, min(_cores(), _free_memory() // _MEMORY_PER_COMPILER))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(found, cgroups.cores() or found)


def _free_memory() -> int:
    """Bytes that could be had without swapping; plenty where the system doesn't say."""
    allowed = cgroups.free_memory()
    return min(_machine_memory(), _PLENTY if allowed is None else allowed)


def _machine_memory() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return _PLENTY


def time_limit() -> float:
    """Seconds that one compiler may take: ``OPWRIGHT_COMPILE_TIMEOUT``, else a quarter of an hour.

    Raises:
        ToolchainError: the variable is no positive number.
    """
    asked = os.environ.get("OPWRIGHT_COMPILE_TIMEOUT", "").strip()
    try:
        seconds = float(asked) if asked else _DEFAULT_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ToolchainError(
            f"OPWRIGHT_COMPILE_TIMEOUT={asked!r}: expected seconds, more than 0\n  likely fix: unset it"
        )
    return seconds


class TimeoutKilledError(Exception):
    """A compiler ran past its time and was killed."""


_ALL: weakref.WeakSet[Processes] = weakref.WeakSet()
_ENDING = threading.Event()


def stop_all() -> None:
    """Kill every compiler of this process, and start none any more: for a program that ends while its threads build."""
    _ENDING.set()
    for processes in tuple(_ALL):
        processes.stop()


def kill_running() -> None:
    """The same from a signal's handler, which may not wait for a lock."""
    for processes in tuple(_ALL):
        processes.kill()


class Processes:
    """The compilers of one call: never more than `jobs` at once, and killed together."""

    def __init__(self) -> None:
        """Read the limits from the environment."""
        self._slots = threading.BoundedSemaphore(jobs())
        self._limit = time_limit()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        _ALL.add(self)
        if _ENDING.is_set():  # asked only now, so that `stop_all` either finds this or is found
            self._stopped = True

    def run(self, command: Sequence[str], log: Path, folder: Path) -> int:
        """Run ``command`` with its output in ``log`` and its temporary files in ``folder``; its exit status.

        Raises:
            ToolchainError: it can't be started.
            TimeoutKilledError: it was killed after `time_limit` seconds.
        """
        with self._slots:
            process = self._start(command, log, folder)
            try:
                return self._wait(process)
            except BaseException:
                _kill(process)
                process.wait()
                raise
            finally:
                with self._lock:
                    self._running.discard(process)

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        late = threading.Event()
        # not process.wait(timeout): that looks only every 50 ms, as long as a whole small compilation takes
        timer = threading.Timer(self._limit, _kill, (process, late))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # Python 3.12 and newer start no thread while the interpreter shuts down
            return self._wait_alone(process)
        try:
            _outlive(process)
        finally:
            timer.cancel()
        status = process.wait()
        if late.is_set():
            raise TimeoutKilledError(f"{self._limit:g} seconds")
        return status

    def _wait_alone(self, process: subprocess.Popen[bytes]) -> int:
        from subprocess import TimeoutExpired

        try:
            return process.wait(self._limit)
        except TimeoutExpired as error:
            raise TimeoutKilledError(f"{self._limit:g} seconds") from error

    def kill(self) -> None:
        """Kill what runs, and start nothing more; without a lock."""
        self._stopped = True
        for process in tuple(self._running):
            _kill(process)

    def stop(self) -> None:
        """Kill what runs, wait until it is gone, and start nothing more."""
        with self._lock:
            self._stopped = True
            running = tuple(self._running)
        for process in running:
            _kill(process)
        for process in running:
            with contextlib.suppress(Exception):  # it hangs in the kernel (a dead file server)
                process.wait(timeout=_SECONDS_TO_DIE)

    def _start(self, command: Sequence[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
        """Start ``command``, in a thread of its own: no signal's exception can strike there before it is noted."""
        environment = {**os.environ, "LC_ALL": "C", MARK: str(folder)}  # English, because the text is parsed
        if "%" not in str(folder):  # which clang would replace by digits
            environment["TMPDIR"] = str(folder)  # removed afterwards, also when the compiler was killed
        started: list[subprocess.Popen[bytes]] = []
        problems: list[BaseException] = []

        def start() -> None:
            try:
                with self._lock:
                    if not self._stopped:
                        started.append(_popen(command, log, environment))
                        self._running.add(started[0])
                if started and self._stopped:  # `kill` came meanwhile: it waits for no lock
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


def _outlive(process: subprocess.Popen[bytes]) -> None:
    """Wait for a compiler, and kill what it leaves behind: nothing may write after it has said that it is done.

    As long as it isn't reaped, nobody else can get its id.
    """
    if not hasattr(os, "waitid"):
        process.wait()
        return
    with contextlib.suppress(ChildProcessError):  # reaped by another thread, or by the system (SIGCHLD is ignored)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        _kill(process)


def _kill(process: subprocess.Popen[bytes], told: threading.Event | None = None) -> None:
    """Kill a compiler with everything that it started (a session of its own, so a group of its own)."""
    if told:
        told.set()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def settled(futures: Sequence[Future[Result]]) -> set[Future[Result]]:
    """Wait until all of ``futures`` are done or one has failed; those that are done.

    Awake now and then: a signal that strikes just before the main thread falls asleep is only seen when it wakes up.
    """
    from concurrent.futures import FIRST_EXCEPTION, wait

    while True:
        done, pending = wait(futures, _SECONDS_ASLEEP, FIRST_EXCEPTION)
        if not pending or any(future.exception() for future in done if not future.cancelled()):
            return done


def in_parallel(tasks: Sequence[Callable[[], Result]], processes: Processes) -> list[Result]:
    """The results of ``tasks``; the first error stops all compilers, and so does Ctrl-C."""
    if len(tasks) <= 1:
        return [task() for task in tasks]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(tasks), _THREADS)) as pool:
        futures: list[Future[Result]] = []
        try:
            try:
                futures += [pool.submit(task) for task in tasks]
            except RuntimeError:  # the interpreter shuts down: no new threads
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
