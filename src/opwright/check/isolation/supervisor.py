"""The process that the user started: it has another one call the operators, and outlives what happens to that one.

PyTorch isn't imported here. The worker (`opwright.check.isolation.worker`) tells each step; if a call ends it, doesn't
return, or takes all memory, the finding is reported, and a new worker goes on with the next check.
"""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import signal
import time
from dataclasses import replace
from typing import Any

from opwright.check.calls.last_call import IDLE, CallMemory, State
from opwright.check.isolation.worker import Death, Job, outcome_from_json
from opwright.check.isolation.worker_process import WorkerProcess
from opwright.check.listener import Collector, Interrupted, Progress, Start
from opwright.check.report import Finding, Level, Outcome, Report
from opwright.check.request import CALL_SECONDS, Request
from opwright.errors import OpwrightError
from opwright.log import is_listened_to
from opwright.toolchain.build.limits import free_memory

_PATIENCE = 6
"""How much longer than `CALL_SECONDS` a call may wait, perhaps for a compiler."""
_SILENCE = 1800.0
"""Time limit in seconds for everything between two calls: PyTorch's compilers are slow, but not that slow."""
MAX_DEATHS = 3
"""Processes that one operator may end; its other checks are skipped then."""
FATAL = {"crashes", "doesnt-return", "out-of-memory"}
"""Kinds of findings of which a process dies."""
_TICK = 0.1
MEMORY_SHARE = 0.6
"""The share of the free memory that a worker may take, of which it may always take `_LEAST_MEMORY` bytes."""
_LEAST_MEMORY = 2 << 30
_CAUSES = {
    "SIGSEGV": "memory that isn't there, or not aligned as a vector, was read or written, or the stack overflowed",
    "SIGBUS": "memory that isn't there was read or written",
    "SIGFPE": "an integer was divided by zero",
    "SIGABRT": "abort() was called: by an assertion, for an exception that nobody caught, or for a damaged heap",
    "SIGILL": "an instruction that this processor doesn't have, or __builtin_trap()",
}


class UnsendableError(Exception):
    """Raised if the worker can't find the operators of a request that isn't text; its cause is the error."""


def supervise(request: Request, progress: Progress | None = None) -> Report:
    """Run the checks of a request in another process; return the report.

    Raises:
        Interrupted: Ctrl-C was pressed.
        UnsendableError: the operators can't be found there, though they may be found here.
        Exception: whatever finding the operators of a request in text raises.
    """
    memory = CallMemory()
    supervisor = _Supervisor(request, memory, Collector(Report(level=request.level), progress))
    try:
        return supervisor.run()
    except KeyboardInterrupt:
        raise Interrupted(supervisor.so_far(), supervisor.collector.total) from None
    finally:
        memory.close()


class _Supervisor:
    """A run: its workers one after another, and what is known of it."""

    def __init__(self, request: Request, memory: CallMemory, collector: Collector) -> None:
        self.request, self.memory, self.collector = request, memory, collector
        self.job: Job | None = Job(request, Start(), None, is_listened_to())
        self.place: Start | None = None
        self.running = Outcome("", "", "failed")  # the check that runs, with what it has found
        self.since = time.monotonic()
        self.deaths: dict[int, int] = {}
        self.planned = False

    def run(self) -> Report:
        """Start workers until one has done the rest."""
        while self.job:
            self.place = None
            with contextlib.closing(WorkerProcess(self.job, self.memory)) as worker:
                why = self._follow(worker)
            if why is None:
                break
            self.job = self._next(self.job, *why, worker.words())
        return self.collector.report

    def so_far(self) -> Report:
        """Return the report, with what the check that runs has found."""
        if self.running.findings:
            self.collector.ended(self.running)
        return self.collector.report

    def _follow(self, worker: WorkerProcess) -> tuple[str, str] | None:
        """Hear a worker until its end; return the kind of the finding and what happened, None if it was done."""
        watch = _Watch(self.request.level)
        while True:
            ended = worker.ended  # asked before its last events are read
            for event in (heard := worker.hear(0 if ended else _TICK)):
                if event["event"] == "done":
                    return None
                self._take(event)
            if ended and not heard:
                return "crashes", describe_end(worker.status)
            state = self.memory.state() if self.place else State(0, IDLE)  # it loads, and the memory is the last one's
            if (found := watch.look(worker, state, bool(heard))) and not worker.ended:
                return found
            self.collector.tick()

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "planned" and not self.planned:
            self.planned = True
            self.collector.planned(event["operators"], event["checks"])
        elif kind == "began":
            self.place, self.since = Start(*event["place"]), time.monotonic()
            self.running = Outcome(event["operator"], event["step"], "failed")
            self.collector.began(event["operator"], event["step"], self.place)
        elif kind == "found":
            self.running.findings.append(Finding(**event["finding"]))
        elif kind == "ended":
            if self.job and self.job.death:  # what the worker before it died of
                self.job = self.job._replace(death=None)
            self.running = replace(self.running, findings=[])
            self.collector.ended(outcome_from_json(event["outcome"]))
        elif kind == "line":
            self.collector.said(event["text"])
        elif kind == "raised":
            _raise(event, text=self.request.is_text)

    def _next(self, job: Job, kind: str, how: str, words: str) -> Job | None:
        """Return the job of the next worker, after the death of one; None if there is nothing to go on with."""
        if self.place is None:
            if job.death:  # while it described the death before: that is told without a reproducer
                self._tell(job.death)
                return job._replace(death=None)
            name = ", ".join(map(str, self.request.targets))
            where = Outcome(self.running.operator or name, "load", "failed")
            self._tell(Death(where, kind, f"loading it {how}", words, is_first=False))
            return None
        number = self.place.operator
        self.deaths[number] = self.deaths.get(number, 0) + (MAX_DEATHS - 1 if kind != "crashes" else 1)
        reason = ""
        if self.running.check == "build":
            reason = "it can't be loaded"
        elif self.deaths[number] >= MAX_DEATHS:
            reason = f"it isn't called any more: a call {how.partition(':')[0]}"
        outcome = replace(self.running, seconds=time.monotonic() - self.since)
        is_first = self.deaths[number] == 1
        death = Death(outcome, kind, how, words, is_first)
        return job._replace(start=Start(number, self.place.step + 1, reason), death=death)

    def _tell(self, death: Death) -> None:
        text = death.how if death.outcome.check == "load" else f"a call {death.how}"
        text += f"\n  it said: {death.words}" if death.words else ""
        findings = [*death.outcome.findings, Finding(death.kind, text)]
        self.collector.ended(replace(death.outcome, findings=findings))


def _raise(event: dict[str, Any], *, text: bool) -> None:
    error = pickle.loads(base64.b64decode(event["error"]))  # noqa: S301 - from a process of ours
    if not isinstance(error, (OpwrightError, ValueError, TypeError)):  # the message of these says everything
        error.__cause__ = _RemoteError(event["traceback"])
    raise error if text or isinstance(error, KeyboardInterrupt) else UnsendableError from error


class _RemoteError(Exception):
    """The traceback of an error in another process; shown as its cause."""

    def __str__(self) -> str:
        """Return the traceback's text."""
        return f"\n{self.args[0]}"


def describe_end(status: int) -> str:
    """Describe how a process ended by itself: by a signal if `status` is negative, else by ``exit``."""
    if status >= 0:
        return f"ended its process by exit({status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"ended its process by signal {-status}"
    return f"ended its process by {name}" + (f": {_CAUSES[name]}" if name in _CAUSES else "")


class _Watch:
    """The limits of a worker's time and memory."""

    def __init__(self, level: Level) -> None:
        self._seconds = CALL_SECONDS[level]
        self._memory = max(_LEAST_MEMORY, int(free_memory() * MEMORY_SHARE))
        self._last: State | None = None
        self._since, self._used = 0.0, 0.0

    def look(self, worker: WorkerProcess, state: State, heard: bool) -> tuple[str, str] | None:
        """Return the kind of finding and what happened if the worker is over a limit."""
        now = time.monotonic()
        used, memory = _usage(worker.process)
        if memory > self._memory:
            return "out-of-memory", f"had taken {memory / (1 << 30):.1f} GiB, most of what was free, when it was ended"
        if heard or state != self._last:
            self._last, self._since, self._used = state, now, used
        waited = now - self._since
        patience = self._seconds if used - self._used > self._seconds / 2 else self._seconds * _PATIENCE
        if waited > (_SILENCE if state.doing == IDLE else patience):
            return "doesnt-return", f"hasn't returned within {waited:.0f} s"
        return None


def _usage(process: int) -> tuple[float, int]:
    """Return the processor time of a process's main thread, in seconds, and the memory that it uses, in bytes."""
    try:
        with open(f"/proc/{process}/task/{process}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, IndexError):  # it has just ended
        return 0.0, 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")
