"""Is a mutant found? Each one is built and checked in a process of its own, which is ended when its time is over."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.checks import select
from opwright.check.context import Context
from opwright.check.listener import Collector
from opwright.check.report import Outcome, Report
from opwright.check.request import Request
from opwright.check.runner import BUDGET, run, run_check
from opwright.errors import CompileError

from .examples import Example

Verdict = Literal["caught", "survived", "not compiling", "no oracle"]
_SOURCES = ("*.c", "*.cpp", "*.cu", "*.cuh", "*.h", "*.py")
_MEMORY = 24 << 30
_LEAST = 60.0
"""Seconds a mutant has, however fast the unchanged source is checked."""
_TIMES = 6.0
"""How many times the unchanged source's seconds a mutant has."""
Outcomes = Callable[[Example, list[TargetOperator]], Iterator[Outcome]]
_FIRST = ("agreement", "gradcheck", "gradgradcheck")
_SKIPPED = ("pytorch", "bad calls", "leaks", "sanitizers")
"""Left out: what isn't about kernels but about their wiring, which no mutant changes."""


@dataclass(frozen=True)
class Judgement:
    """What became of a source.

    Attributes:
        verdict: what it was; "no oracle": it wasn't judged, as no gradient is derived to compare with.
        by: what found it: the check, and the finding's kind; or how its process ended.
        seconds: how long that took.
        message: what the finding says, in its first line.
    """

    verdict: Verdict
    by: str
    seconds: float
    message: str = ""


def judge_mutant(
    example: Example,
    text: str,
    baseline: float | None = None,
    function: str = "",
    *,
    outcomes: Outcomes | None = None,
) -> Judgement:
    """Check an example with a source that says `text`.

    Args:
        example: whose source it is.
        text: the source.
        function: which one was changed: its operator is checked first.
        baseline: how many seconds the unchanged source takes; None: this is the unchanged one, which has no limit and
            isn't sanitized: mutants that survive show that sanitizers let right ones pass.
        outcomes: checks the operators, in place of all checks.
    """
    started, limit = time.monotonic(), None if baseline is None else max(_LEAST, _TIMES * baseline)
    with _copy_with_mutant(example, text) as folder:
        checked = outcomes or partial(_outcomes, sanitized=baseline is not None)
        said, ended = _run_forked(lambda write: _check(example, folder, function, write, checked), limit)
    seconds = time.monotonic() - started
    if ended:
        return Judgement("caught", ended, seconds)
    return Judgement(said["verdict"], said["by"], seconds, said.get("message", ""))


@contextlib.contextmanager
def _copy_with_mutant(example: Example, text: str) -> Iterator[Path]:
    """The example's folder with the source changed; what a reader writes beside it isn't in the original."""
    whole, inner = example.folder, Path(*Path(example.source).parts[1:])
    with tempfile.TemporaryDirectory(prefix="opwright-mutant-") as temporary:
        folder = Path(temporary) / whole.name
        built = shutil.ignore_patterns("_ext", "build", "*.so", "*.o", "__pycache__", "*.egg-info")
        shutil.copytree(whole, folder, ignore=built)
        (folder / inner).write_text(text)
        yield folder


def _check(
    example: Example, folder: Path, function: str, write: Callable[[dict[str, str]], None], outcomes: Outcomes
) -> None:
    """In a process of its own: build, and check until something is found."""
    try:
        found = sorted(example.load(folder), key=lambda operator: not function.startswith(operator.name))
    except Exception as error:  # noqa: BLE001 - whatever keeps it from being loaded: nothing is left to check
        said = {"verdict": "not compiling", "by": f"{type(error).__name__}: {_first_line(error)}"}
    else:
        try:
            said = _findings(outcomes(example, found)) or {"verdict": "survived", "by": ""}
        except CompileError as error:
            said = {"verdict": "not compiling", "by": _first_line(error)}
        except NoOracleError as error:
            said = {"verdict": "no oracle", "by": str(error)}
    write(said)


def _outcomes(example: Example, found: list[TargetOperator], *, sanitized: bool) -> Iterator[Outcome]:
    """What the checks say, the quickest first; mutants that survive these are `sanitized`."""
    options = {**example.settings, "fail_fast": True, "shrink": False}
    for operator in found:  # before every element type is built, which takes longer than most mutants live
        for check in select("quick", _FIRST, example.skip):
            yield run_check(check, Context(operator, "quick", seconds=BUDGET["quick"], options=options))
    request = Request((), level="quick", skip=(*_SKIPPED, *_FIRST, *example.skip), options=options)
    yield from _report(found, request)
    if not sanitized:
        return
    # AddressSanitizer's shadow has the size of all memory that there could be.
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    yield from _report(found, replace(request, only=("sanitizers",), skip=()))


class NoOracleError(Exception):
    """No operator has a derived gradient to compare with; the message says why."""


def _report(found: list[TargetOperator], request: Request) -> Report:
    """Run checks in this process."""
    run(found, request, collector := Collector(Report(level=request.level)))
    return collector.report


def _findings(outcomes: Iterator[Outcome]) -> dict[str, str]:
    """The first thing that is wrong; nothing where nothing is."""
    for each in outcomes:
        if each.status == "failed":
            finding = each.findings[0]
            line = finding.message.partition("\n")[0][:300]
            if "CompileError" in finding.message:
                return {"verdict": "not compiling", "by": line}
            return {"verdict": "caught", "by": f"{each.operator}: {each.check}: {finding.kind}", "message": line}
        if each.status == "error":
            return {"verdict": "caught", "by": f"{each.operator}: {each.check}: {each.detail}"}
    return {}


def _run_forked(action: Callable[[Callable[[dict[str, str]], None]], None], limit: float | None) -> tuple[Any, str]:
    """What `action` writes in a copy of this process; how that ended, where it wrote nothing."""
    with tempfile.TemporaryDirectory(prefix="opwright-judged-") as temporary:
        said, log = Path(temporary) / "said", Path(temporary) / "log"
        child = os.fork()
        if child == 0:
            _child_main(action, said, log)
        status = _wait(child, limit)
        if said.exists():
            return json.loads(said.read_text()), ""
        if status is None:
            return None, "time limit"
        if os.WIFSIGNALED(status):
            return None, f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
        words = log.read_text(errors="replace").strip().splitlines() or ["nothing"]
        return None, f"ended with status {os.waitstatus_to_exitcode(status)}: {words[-1][:200]}"


def _child_main(action: Callable[[Callable[[dict[str, str]], None]], None], said: Path, log: Path) -> None:
    """The copy's life; it never returns."""
    status = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, most))
        out = os.open(log, os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1)
        os.dup2(out, 2)

        def write(what: dict[str, str]) -> None:
            said.with_suffix(".part").write_text(json.dumps(what))
            said.with_suffix(".part").rename(said)

        action(write)
        status = 0
    finally:
        os._exit(status)


def _wait(child: int, limit: float | None) -> int | None:
    """How the process ended; None where it didn't, and was ended, with all that it started."""
    ends = None if limit is None else time.monotonic() + limit
    while ends is None or time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
