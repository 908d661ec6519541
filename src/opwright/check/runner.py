"""Runner of checks: each gets its share of the time, and an exception becomes an outcome."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.checks import select
from opwright.check.context import Context
from opwright.check.first_calls import BUILD, FIRST_CALLS, describe_failure
from opwright.check.listener import Listener, Start
from opwright.check.registry import Check
from opwright.check.report import Finding, Level, Outcome, Skipped
from opwright.check.request import Request
from opwright.check.validation import only_for_cuda

BUDGET: Mapping[Level, float] = {"quick": 8.0, "normal": 45.0, "thorough": 8 * 3600.0}
"""Seconds for one operator; compilers and PyTorch's own checks, which can't be shortened, may take longer."""


def run(
    operators: Sequence[TargetOperator],
    request: Request,
    listener: Listener,
    *,
    also: Sequence[str] = (),
    start: Start = Start(),  # noqa: B008 - it is immutable
) -> None:
    """Run the checks that a request selects.

    Args:
        operators: those of the request, or some of them.
        request: the level, the selected checks, the seed and the options.
        listener: hears of everything as it happens.
        also: names of checks to add at any level.
        start: where to begin.

    Raises:
        ModuleNotFoundError: hypothesis isn't installed.
        ValueError: there is no such check.
    """
    _require()
    checks = select(request.level, request.only, request.skip, tuple(also))
    shares = request.shares or sum(check.share for check in checks) or 1.0
    running = _Run(checks, request, shares, listener)
    listener.planned([operator.name for operator in operators], len(checks))
    with show_warnings_once():
        for number, operator in enumerate(operators):
            if number < start.operator:
                continue
            if not running.check(operator, number, start if number == start.operator else Start()):
                break


def _require() -> None:
    """Require hypothesis before anything is built.

    Raises:
        ModuleNotFoundError: it isn't installed.
    """
    try:
        import hypothesis  # noqa: F401 - whether it is installed
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        text = "checks need hypothesis, which isn't installed\n  likely fix: pip install opwright[check]"
        raise ModuleNotFoundError(text, name="hypothesis") from None


@dataclass(frozen=True)
class _Run:
    """All checks of all operators."""

    checks: Sequence[Check]
    request: Request
    shares: float
    listener: Listener

    def check(self, operator: TargetOperator, number: int, start: Start) -> bool:
        """Run the steps of an operator, whose index is `number`; return false if the run is to stop."""
        reason = start.reason
        if only_for_cuda(operator):
            reason = 'its kernels are for CUDA only: device="emulated", or "cuda"'
        for index, step in enumerate(self._steps()):
            if index < start.step:
                continue
            if reason:
                if step in self.checks:
                    self.listener.ended(Outcome(operator.name, step.name, "skipped", detail=reason))
                continue
            self.listener.began(operator.name, step.name, Start(number, index))
            made = run_check(step, self._context(operator, step), self.listener.found)
            if step in self.checks or made.status in ("failed", "error"):
                self.listener.ended(made)
            reason = self._reason(step, made)
            if made.status in ("failed", "error") and self.request.options.get("fail_fast"):
                return False
        return True

    def _steps(self) -> list[Check]:
        """Return the checks, those in child processes first, and what has to precede each of these two parts."""
        apart = [check for check in self.checks if check.in_child]
        here = [check for check in self.checks if not check.in_child]
        return [BUILD, *apart, *([FIRST_CALLS, *here] if here else [])]

    def _reason(self, step: Check, made: Outcome) -> str:
        """Return why the operator isn't called any more after a step."""
        if made.findings and step not in self.checks:
            return describe_failure(step, made.findings[0])
        kinds = ", ".join(finding.kind for finding in made.findings if finding.harmful)
        return f"it isn't called any more after what {made.check} found: {kinds}" if kinds else ""

    def _context(self, operator: TargetOperator, check: Check) -> Context:
        """Return the check's context, with its share of the time."""
        request, seconds = self.request, BUDGET[self.request.level] * check.share / self.shares
        return Context(operator, request.level, request.seed, seconds, request.options)


def run_check(check: Check, context: Context, found: Callable[[Finding], None] | None = None) -> Outcome:
    """Run one check; `found` is called with each finding at once."""
    started, made = time.perf_counter(), Outcome(context.operator.name, check.name, "passed")
    try:
        for finding in check.body(context):
            made.findings.append(finding)
            if found:
                found(finding)
        made.status = "failed" if made.findings else "passed"
        made.detail = context.detail or (f"{context.tried} calls" if context.tried else "")
        _add_refusals(made, context)
        _add_reference_errors(made, context)
    except Skipped as reason:
        made.status, made.detail = "failed" if made.findings else "skipped", str(reason)
    except Exception as error:  # noqa: BLE001 - one check's failure doesn't keep the others from running
        made.status, made.detail = "error", f"the check itself failed: {type(error).__name__}: {error}"
    made.seconds = time.perf_counter() - started
    made.calls = context.tried
    return made


def _add_refusals(made: Outcome, context: Context) -> None:
    """Count the refused calls in the outcome; if the kernel's own check refused all, the check is skipped."""
    if not context.refusals:
        return
    count = len(context.refusals)
    if count >= context.tried and made.status == "passed":
        made.status, made.detail = "skipped", f"the kernel refused all {count} calls: {context.refusals[0]}"
    else:
        made.detail += f"; the kernel refused {count} of them"


def _add_reference_errors(made: Outcome, context: Context) -> None:
    """Count in the outcome the calls for which the reference raised."""
    if context.reference_errors and context.judgements:
        first = context.reference_errors[0].partition("\n")[0]
        made.detail += f"; for {len(context.reference_errors)} of them the reference raised, the first time: {first}"


@contextlib.contextmanager
def show_warnings_once() -> Iterator[None]:
    """Show each warning once within the context. Python forgets which were shown whenever the filters change."""
    shown: set[tuple[str, type[Warning], str, int]] = set()
    before = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Show a warning unless it was shown before; stands in for `warnings.showwarning`."""
        if (warning := (str(message), category, filename, lineno)) not in shown:
            shown.add(warning)
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
