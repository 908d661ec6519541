"""Checks of this process's objects: what another process can rebuild is called there, the rest here."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opwright.check.checks import select
from opwright.check.first_calls import BUILD, FIRST_CALLS
from opwright.check.isolation.supervisor import FATAL, UnsendableError, supervise
from opwright.check.listener import Collector, Interrupted, Progress, Start
from opwright.check.report import Report
from opwright.check.runner import run
from opwright.check.targets import registered_operator
from opwright.check.validation import ITSELF, sanitizer_checks
from opwright.runtime import Operators
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket

if TYPE_CHECKING:
    from opwright.check.calls.target_operator import TargetOperator
    from opwright.check.request import Request


def check_objects(request: Request, progress: Progress | None, *, isolate: bool) -> Report:
    """Check operators, perhaps against a reference, that may be objects of this process.

    Args:
        request: what to check.
        progress: called as checks begin.
        isolate: whether another process calls what it can rebuild.

    Raises:
        Interrupted: Ctrl-C was pressed.
        ValueError: as `Request.find_operators`, and SignatureError and SourceError, too.
    """
    operators = request.find_operators()
    also = sanitizer_checks(request.options["sanitize"])
    checks = select(request.level, request.only, request.skip, tuple(also))
    calls = {o.name: [{**call.tensors, **call.scalars} for call in o.examples] for o in operators}
    request = replace(request, examples=calls, shares=sum(check.share for check in checks))
    if not isolate or not all(map(_can_be_rebuilt, request.targets)):
        return _run_here(operators, request, [check.name for check in checks], Report(level=request.level), progress)
    try:
        if _is_sendable(request):
            return supervise(request, progress)
        report = supervise(replace(request, reference=ITSELF), progress)
        here = [check.name for check in checks if check.asks_reference]
        _keep_crashes(report, here)
        report.notes.append(
            f"the reference is an object of this process, where these checks ran: {', '.join(here) or 'none'}"
        )
    except UnsendableError as error:
        report, here = Report(level=request.level), [check.name for check in checks]
        report.notes.append(f"called in this process, since another one can't rebuild it: {error.__cause__}")
    return _run_here(operators, request, here, report, progress)


def _keep_crashes(report: Report, checks: Sequence[str]) -> None:
    """Keep of the outcomes of some checks only the crashes: the operator was compared with itself."""
    for outcome in report.outcomes:
        if outcome.check in checks:
            outcome.findings = [finding for finding in outcome.findings if finding.kind in FATAL]
    report.outcomes = [o for o in report.outcomes if o.check not in checks or o.findings]


def _run_here(
    operators: Sequence[TargetOperator], request: Request, checks: Sequence[str], report: Report,
    progress: Progress | None,
) -> Report:  # fmt: skip
    """Run checks in this process, and add their outcomes to a report; skip them where a call would be harmful."""
    collector = Collector(report, progress)
    try:
        for operator in operators:
            done = {outcome.check for outcome in report.of(operator.name)}
            if not (left := [name for name in checks if name not in done]):
                continue
            alone = replace(request, only=tuple(left), skip=())
            run([operator], alone, collector, start=Start(reason=_reason(report, operator.name)))
    except KeyboardInterrupt:
        raise Interrupted(report, collector.total) from None
    return report


def _reason(report: Report, operator: str) -> str:
    """Return why an operator mustn't be called in this process, after what was found in another one."""
    for outcome in report:
        fatal = outcome.check in (BUILD.name, FIRST_CALLS.name) or any(
            finding.harmful or finding.kind in FATAL for finding in outcome.findings
        )
        if outcome.operator == operator and outcome.findings and fatal:
            kinds = ", ".join(finding.kind for finding in outcome.findings)
            return f"it isn't called in this process after what {outcome.check} found: {kinds}"
    return ""


def _can_be_rebuilt(target: Any) -> bool:
    """Return whether a target is a name, or was made of sources."""
    if isinstance(target, Operators):
        return bool(target.__loaded__.sources)
    if isinstance(target, OpOverloadPacket):
        target = getattr(target, target.overloads()[0])
    if isinstance(target, OpOverload):
        operator = registered_operator(target)
        return operator is not None and bool(operator.sources)
    return isinstance(target, (str, os.PathLike))


def _is_sendable(request: Request) -> bool:
    """Return whether another process can receive the request, and find what it refers to by name."""
    try:
        _Pickler(io.BytesIO()).dump(request)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are pickled
        return False
    return True


class _Pickler(pickle.Pickler):
    """Refuses what is defined in a script or a notebook: another process can't import it."""

    def reducer_override(self, value: Any) -> Any:
        """Refuse functions and classes of ``__main__``."""
        if getattr(value, "__module__", None) == "__main__":
            raise pickle.PicklingError(f"{value!r} is defined in __main__")
        return NotImplemented
