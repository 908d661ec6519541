"""Who hears of a run as it happens: the collector of outcomes, or the pipe to another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from opwright.check.report import Finding, Outcome, Report

Progress = Callable[[str, str, int, int], None]
"""Called with the operator, the check that begins, the number of finished checks, and the total."""


class Start(NamedTuple):
    """Where a run begins, if not at its beginning.

    Attributes:
        operator: the index of the first operator.
        step: the index of its first step.
        reason: why its checks are skipped; empty if they aren't.
    """

    operator: int = 0
    step: int = 0
    reason: str = ""


class Interrupted(KeyboardInterrupt):
    """Raised for Ctrl-C, with the findings so far as `report`."""

    def __init__(self, report: Report, total: int) -> None:
        """Store the report, and note in it how many of `total` checks were made."""
        checks = f"{len(report.outcomes)} of {total} checks were" if total else "no check was"
        report.stopped = f"stopped by Ctrl-C: {checks} run"
        super().__init__(report.stopped)
        self.report = report


class Listener(Protocol):
    """Hears of a run as it happens."""

    def planned(self, operators: Sequence[str], checks: int) -> None:
        """Hear the names of the operators, and the number of checks of each."""

    def began(self, operator: str, step: str, place: Start) -> None:
        """Hear that a check begins, or what precedes the checks."""

    def found(self, finding: Finding) -> None:
        """Hear of a finding of the check that runs."""

    def ended(self, outcome: Outcome) -> None:
        """Hear of the outcome of a check."""


class Collector:
    """Collects the outcomes in a report, and reports progress."""

    def __init__(self, report: Report, progress: Progress | None = None) -> None:
        """Store the report to add to."""
        self.report, self.progress = report, progress
        self.total, self._running = 0, ("", "")

    def planned(self, operators: Sequence[str], checks: int) -> None:
        """Compute the total for the progress."""
        self.total = len(self.report.outcomes) + len(operators) * checks

    def began(self, operator: str, step: str, place: Start) -> None:
        """Report progress."""
        del place
        self._running = (operator, step)
        self.tick()

    def said(self, line: str) -> None:
        """Report a line about slow work as what runs."""
        self._running = (self._running[0] or "check", line)
        self.tick()

    def tick(self) -> None:
        """Report the progress again, since time has passed."""
        if self.progress and self._running[0]:
            self.progress(*self._running, min(len(self.report.outcomes), self.total), self.total)

    def found(self, finding: Finding) -> None:
        """Do nothing: the outcome has its findings."""

    def ended(self, outcome: Outcome) -> None:
        """Add the outcome."""
        self.report.outcomes.append(outcome)
