"""One check is run: whatever it raises is an outcome."""

from __future__ import annotations

import time

from opwright.check.context import Context
from opwright.check.registry import Check, Skipped
from opwright.check.report import Outcome


def outcome(check: Check, context: Context) -> Outcome:
    """Run one check."""
    started, made = time.perf_counter(), Outcome(context.subject.name, check.name, "passed")
    try:
        made.findings = list(check.body(context))
        made.status = "failed" if made.findings else "passed"
        made.detail = context.detail or (f"{context.tried} calls" if context.tried else "")
        _tell_refusals(made, context)
        _tell_unreferred(made, context)
    except Skipped as reason:
        made.status, made.detail = "skipped", str(reason)
    except Exception as error:  # noqa: BLE001 - one check's failure doesn't keep the others from running
        made.status, made.detail = "error", f"the check itself failed: {type(error).__name__}: {error}"
    made.seconds = time.perf_counter() - started
    return made


def _tell_refusals(made: Outcome, context: Context) -> None:
    """Where the kernel's own check refused all calls, nothing was compared."""
    if not context.refused:
        return
    count = len(context.refused)
    if count >= context.tried and made.status == "passed":
        made.status, made.detail = "skipped", f"the kernel refused all {count} calls: {context.refused[0]}"
    else:
        made.detail += f"; the kernel refused {count} of them"


def _tell_unreferred(made: Outcome, context: Context) -> None:
    """How many calls the reference didn't take; where it took none, that is a finding."""
    if context.unreferred and context.judgements:
        first = context.unreferred[0].partition("\n")[0]
        made.detail += f"; for {len(context.unreferred)} of them the reference raised, the first time: {first}"
