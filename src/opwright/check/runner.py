"""Runs checks: each gets its share of the time, and whatever it raises is an outcome."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opwright.check.context import Context
from opwright.check.registry import Check, Level, Skipped, chosen
from opwright.check.report import Outcome, Report
from opwright.check.subject import Subject

BUDGET: Mapping[Level, float] = {"quick": 8.0, "normal": 45.0, "thorough": 8 * 3600.0}
"""Seconds for one operator; compilers and PyTorch's own checks, which can't be hurried, may take longer."""

Progress = Callable[[str, str, int, int], None]
"""Called with the operator, the check that begins, how many are done, and how many there are."""


def run(
    subjects: Sequence[Subject],
    *,
    level: Level = "normal",
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    also: Sequence[str] = (),
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run the checks of a level.

    Args:
        subjects: the operators.
        level: how thorough.
        only: names of checks or groups; none: all that the level has.
        skip: names of checks or groups to leave out.
        also: names of checks to add, whatever the level.
        seed: where all draws come from.
        options: what the caller asked for, by name: see the checks.
        progress: is told what begins.

    Raises:
        ValueError: there is no such check.
    """
    checks = chosen(level, tuple(only), tuple(skip), tuple(also))
    report = Report(level=level)
    total = len(subjects) * len(checks)
    shares = sum(check.share for check in checks) or 1.0
    for subject in subjects:
        harm, built = "", False
        for check in checks:
            if harm:
                report.outcomes.append(Outcome(subject.name, check.name, "skipped", detail=harm))
                continue
            if not built and not check.apart:
                if progress:
                    progress(subject.name, "building", len(report.outcomes), total)
                _build(subject)
                built = True
            if progress:
                progress(subject.name, check.name, len(report.outcomes), total)
            seconds = BUDGET[level] * check.share / shares
            context = Context(subject, level, seed, seconds, options or {})
            report.outcomes.append(outcome(check, context))
            harm = _harm(report.outcomes[-1]) if check.apart else ""
            if context.options.get("fail_fast") and not report.ok:
                return report
    return report


def _harm(made: Outcome) -> str:
    """Why the operator isn't called in this process any more."""
    kinds = ", ".join(finding.kind for finding in made.findings if finding.harmful)
    return f"it isn't called in this process after what {made.check} found: {kinds}" if kinds else ""


def _build(subject: Subject) -> None:
    """Compile every element type, so that it takes no check's time; what goes wrong, the checks will tell."""
    import random

    from opwright.check.inputs import Case
    from opwright.signature import sample

    for types in subject.signature.instances():
        with contextlib.suppress(Exception):
            drawn = sample(subject.signature, random.Random(0), types=types, contiguous=True)  # noqa: S311 - test data
            subject.call(Case(drawn, device=subject.device).arguments(), types)


def outcome(check: Check, context: Context) -> Outcome:
    """Run one check."""
    started, made = time.perf_counter(), Outcome(context.subject.name, check.name, "passed")
    try:
        made.findings = list(check.body(context))
        made.status = "failed" if made.findings else "passed"
        made.detail = context.detail or (f"{context.tried} calls" if context.tried else "")
        _tell_refusals(made, context)
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
