"""Runs checks: each gets its share of the time, and whatever it raises is an outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opwright.check.asked import only_for_cuda
from opwright.check.context import Context
from opwright.check.first import told, unbuildable, uncallable, unsurvivable
from opwright.check.outcome import outcome
from opwright.check.registry import Check, Level, chosen
from opwright.check.report import Finding, Outcome, Report
from opwright.check.subject import Subject
from opwright.check.warned import warned_once
from opwright.check.watch import now, watching

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
        Interrupted: Ctrl-C.
        ModuleNotFoundError: hypothesis isn't installed.
        ValueError: there is no such check.
    """
    _require()
    checks = chosen(level, tuple(only), tuple(skip), tuple(also))
    every = _Run(checks, level, seed, options or {}, progress, len(subjects) * len(checks), Report(level=level))
    try:
        with warned_once(), watching():
            for subject in subjects:
                if not every.of(subject):
                    break
    except KeyboardInterrupt:
        raise Interrupted(every.report) from None
    return every.report


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was found until then as `report`."""

    def __init__(self, report: Report) -> None:
        """Keep the report."""
        super().__init__("the checks were interrupted")
        self.report = report


def _require() -> None:
    """Whether there is hypothesis, before anything is built.

    Raises:
        ModuleNotFoundError: there is none.
    """
    try:
        import hypothesis  # noqa: F401 - whether it is there
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        text = "checks need hypothesis, which isn't installed\n  likely fix: pip install opwright[check]"
        raise ModuleNotFoundError(text, name="hypothesis") from None


@dataclass(frozen=True)
class _Run:
    """All checks of all operators."""

    checks: Sequence[Check]
    level: Level
    seed: int
    options: Mapping[str, Any]
    progress: Progress | None
    total: int
    report: Report

    def of(self, subject: Subject) -> bool:
        """The checks of one operator; false where nothing more is to be done."""
        why, called = self._built(subject), False
        for check in self.checks:
            if not why and not check.apart and not called:
                why, called = self._called(subject), True
            if why:
                self.report.outcomes.append(Outcome(subject.name, check.name, "skipped", detail=why))
                continue
            self._tell(subject, check.name)
            made = outcome(check, self._context(subject, check))
            self.report.outcomes.append(made)
            why = _harm(made)
            if self.options.get("fail_fast") and not self.report.ok:
                return False
        return True

    def _built(self, subject: Subject) -> str:
        """Why nothing can be checked: it can't be built, which is a finding then."""
        if only_for_cuda(subject):
            return 'its kernels are for CUDA only: device="emulated", or "cuda"'
        self._tell(subject, "building")
        finding = unbuildable(subject)
        return self._failed(subject, "build", finding, "it can't be built") if finding else ""

    def _called(self, subject: Subject) -> str:
        """Why it isn't called in this process; before it is for the first time."""
        self._tell(subject, "first calls")
        if finding := unsurvivable(subject, self.level):
            what = "doesn't return" if finding.kind == "doesnt-return" else "ends it"
            return self._failed(subject, "first calls", finding, f"it isn't called in this process: that {what}")
        if finding := uncallable(subject):
            return self._failed(subject, "first calls", finding, told(finding))
        return ""

    def _failed(self, subject: Subject, check: str, finding: Finding, why: str) -> str:
        self.report.outcomes.append(Outcome(subject.name, check, "failed", [finding]))
        return why

    def _context(self, subject: Subject, check: Check) -> Context:
        """What the check gets, with its share of the time."""
        shares = sum(check.share for check in self.checks) or 1.0
        seconds = BUDGET[self.level] * check.share / shares
        return Context(subject, self.level, self.seed, seconds, self.options)

    def _tell(self, subject: Subject, what: str) -> None:
        now(f"{subject.name}: {what}")
        if self.progress:
            self.progress(subject.name, what, len(self.report.outcomes), self.total)


def _harm(made: Outcome) -> str:
    """Why the operator isn't called in this process any more."""
    kinds = ", ".join(finding.kind for finding in made.findings if finding.harmful)
    return f"it isn't called in this process after what {made.check} found: {kinds}" if kinds else ""
