"""The process that calls the operators: it runs the checks of a request, and tells another process of each step.

Events are lines of JSON in a pipe of their own. The last call is kept in shared memory. So all that is known remains
when a call ends this process.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from opwright.check.listener import Start
from opwright.check.report import Finding, Outcome
from opwright.log import listening

if TYPE_CHECKING:
    from opwright.check.request import Request

_PR_SET_PDEATHSIG = 1
inside = [False]
"""Whether this process is a worker: checks that begin when it imports a module start no further worker."""


class Death(NamedTuple):
    """How the process before this one ended.

    Attributes:
        outcome: the check that ran, with what it had found.
        kind: the kind of the finding.
        how: what happened: ``"killed by SIGSEGV"``.
        words: what the process had written on stderr before.
        is_first: whether the operator ended no process before; its reproducer is tried then.
    """

    outcome: Outcome
    kind: str
    how: str
    words: str
    is_first: bool


class Job(NamedTuple):
    """What a worker is to do.

    Attributes:
        request: the whole request.
        start: where to begin.
        death: how the worker before it ended, which is to be described first.
        tells: whether it sends what it would otherwise write about slow work.
    """

    request: Request
    start: Start
    death: Death | None
    tells: bool


class _Sender:
    """Listens to the run, and sends what it hears."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, event: str, **content: Any) -> None:
        """Send an event."""
        line = json.dumps({"event": event, **content}).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]

    def planned(self, operators: Sequence[str], checks: int) -> None:
        """Send the number of checks."""
        self.send("planned", operators=list(operators), checks=checks)

    def began(self, operator: str, step: str, place: Start) -> None:
        """Send what begins."""
        self.send("began", operator=operator, step=step, place=place)

    def found(self, finding: Finding) -> None:
        """Send a finding at once: the check that found it may not end."""
        self.send("found", finding=asdict(finding))

    def ended(self, outcome: Outcome) -> None:
        """Send an outcome."""
        self.send("ended", outcome=asdict(outcome))

    def raised(self, error: BaseException) -> None:
        """Send an error; one that can't be sent becomes a RuntimeError with the same text."""
        told = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickled := pickle.dumps(error))  # noqa: S301 - written just now
        except Exception:  # noqa: BLE001 - exceptions may contain anything
            pickled = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        self.send("raised", error=base64.b64encode(pickled).decode(), traceback=told)


def outcome_from_json(content: dict[str, Any]) -> Outcome:
    """Return the outcome that `asdict` turned into plain data."""
    return Outcome(**{**content, "findings": [Finding(**finding) for finding in content["findings"]]})


def main(parent: int, events: int, memory: int) -> None:
    """Do the job that stands on stdin, and end the process.

    Args:
        parent: the process that started this one; this one ends with it.
        events: descriptor of the pipe for events.
        memory: descriptor of the memory for the last call.
    """
    end_with_parent(parent)
    inside[0] = True
    sender = _Sender(events)
    try:
        job: Job = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from the process that started this
        with listening(lambda line: sender.send("line", text=line)) if job.tells else contextlib.nullcontext():
            _do(job, sender, memory)
        sender.send("done")
    except BaseException as error:  # noqa: BLE001 - raised again in the other process
        sender.raised(error)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)  # without what a damaged process would do at its end


def _do(job: Job, sender: _Sender, memory: int) -> None:
    from opwright.check.calls.last_call import record_calls
    from opwright.check.checks import select
    from opwright.check.isolation.crash import describe_death
    from opwright.check.runner import run
    from opwright.check.validation import sanitizer_checks

    request = job.request
    also = sanitizer_checks(request.options["sanitize"])
    select(request.level, request.only, request.skip, tuple(also))  # an error of it is told before anything is built
    operators = request.find_operators()
    if job.death:
        sender.ended(describe_death(request, operators[job.start.operator], job.death, memory))
    record_calls(memory)
    run(operators, request, sender, also=also, start=job.start)


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process when `parent` ends (Linux only), and write no core files."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # of the two, the kernel ends this one if memory is short
    if os.getppid() != parent:
        os._exit(1)
