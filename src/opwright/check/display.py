"""Reports for people: a line for each operator, its findings, and on request a table of all checks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from opwright.check.report import Finding, Outcome, Report

    Found = Sequence[tuple[Outcome, Finding]]

_STYLES = {"passed": "green", "failed": "bold red", "error": "bold red", "skipped": "yellow"}
NO_REFERENCE = "no reference was given"
CAUSES = (
    "doesnt-compile", "out-of-bounds", "bad-memory-access", "division-by-zero", "integer-overflow",
    "undefined-behaviour", "misaligned", "data-race", "race", "divergent-barrier", "uninitialised", "crashes",
    "out-of-memory", "doesnt-return",
)  # fmt: skip
"""Kinds of findings from which wrong results of any kind follow, the ones that say most first."""


def ranked(outcomes: Sequence[Outcome]) -> list[tuple[Outcome, Finding]]:
    """Return the findings of one operator, a cause before what may follow from it."""
    found = [(outcome, finding) for outcome in outcomes for finding in outcome.findings]
    return sorted(found, key=lambda pair: CAUSES.index(pair[1].kind) if pair[1].kind in CAUSES else len(CAUSES))


def show(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the report; if `verbose`, with the table of all checks and with consequences of other findings."""
    if verbose:
        _show_table(report, console)
    for operator in report.operators:
        _show_operator(operator, report.of(operator), console, verbose=verbose, whole=not report.stopped)
    if (not report.ok or report.nothing or verbose) and not (report.stopped and not report.outcomes):
        console.print(summary(report), style=_style(report), highlight=False)
    for note in report.notes if verbose else ():
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    if report.stopped:
        console.print(report.stopped, style="yellow", markup=False, highlight=False)


def _show_table(report: Report, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("operator", "check", "result", "seconds", "what was compared")
    last = ""
    for o in report:
        status = f"[{_STYLES[o.status]}]{o.status}[/]"
        table.add_row(o.operator if o.operator != last else "", o.check, status, f"{o.seconds:.1f}", escape(o.detail))
        last = o.operator
    console.print(table)


def _show_operator(operator: str, outcomes: Sequence[Outcome], console: Console, *, verbose: bool, whole: bool) -> None:
    """Print what is wrong with an operator, the cause first; or in one line that it is right."""
    from rich.markup import escape

    wrong = [outcome for outcome in outcomes if outcome.status in ("failed", "error")]
    if not wrong:
        _show_right(operator, outcomes, console, "right" if whole else "nothing wrong so far")
        return
    shown, folded = fold(ranked(outcomes), verbose=verbose)
    for outcome, finding in shown:
        console.print(f"[bold red]{escape(operator)}: {outcome.check}: {finding.kind}[/]", highlight=False)
        console.print(_indented(finding.message), markup=False, highlight=False, soft_wrap=True)
        if finding.reproducer:
            console.print("  to see it:", style="bold")
            console.print(_indented(finding.reproducer, 4), markup=False, highlight=False, soft_wrap=True)
    for outcome in wrong:
        if outcome.status == "error":
            text = f"{operator}: {outcome.check}: {outcome.detail}"
            console.print(text, style="bold red", markup=False, highlight=False, soft_wrap=True)
    if folded:
        console.print(f"  {_list(folded)}", markup=False, highlight=False, soft_wrap=True)


def _show_right(operator: str, outcomes: Sequence[Outcome], console: Console, verdict: str) -> None:
    """Print that nothing was found, and by how much; without any result, why not."""
    from rich.markup import escape

    passed = [outcome for outcome in outcomes if outcome.status == "passed"]
    if not passed:
        for reason in dict.fromkeys(outcome.detail for outcome in outcomes):
            checks = ", ".join(outcome.check for outcome in outcomes if outcome.detail == reason)
            console.print(f"{operator}: {checks}: {reason}", markup=False, highlight=False, soft_wrap=True)
        return
    calls, seconds = (sum(values) for values in zip(*((o.calls, o.seconds) for o in outcomes), strict=True))
    count = f"{len(passed)} check{'s' * (len(passed) > 1)}, {calls:,} calls, {seconds:.1f} s"
    without = "; values weren't compared: no reference" if any(o.detail == NO_REFERENCE for o in outcomes) else ""
    console.print(f"{escape(operator)}: [green]{verdict}[/] — {count}{without}", highlight=False, soft_wrap=True)


def fold(found: Found, *, verbose: bool = False) -> tuple[Found, Found]:
    """Divide an operator's ranked findings into those to show, and those that likely follow from the first.

    After a cause (see `CAUSES`) everything else may follow from it; otherwise findings that say the same are folded.
    """
    if verbose or not found:
        return found, ()
    if found[0][1].kind in CAUSES:
        return found[:1], found[1:]
    first = {(finding.kind, _first_line(finding)): outcome for outcome, finding in reversed(found)}
    shown = [(o, f) for o, f in found if first[f.kind, _first_line(f)] is o]
    return shown, [pair for pair in found if pair not in shown]


def _first_line(finding: Finding) -> str:
    return finding.message.partition("\n")[0]


def _list(folded: Found) -> str:
    """List folded findings: each kind with its checks."""
    kinds: dict[str, list[str]] = {}
    for outcome, finding in folded:
        kinds.setdefault(finding.kind, []).append(outcome.check)
    listed = ", ".join(f"{kind} ({', '.join(dict.fromkeys(checks))})" for kind, checks in kinds.items())
    return f"also, perhaps for the same reason: {listed}; opwright check -v shows all"


def _style(report: Report) -> str:
    return "bold red" if not report.ok else "yellow" if report.nothing else "green"


def summary(report: Report) -> str:
    """Summarize the report in one line."""
    count = {status: sum(o.status == status for o in report) for status in _STYLES}
    listed = ", ".join(f"{number} {status}" for status, number in count.items() if number)
    verdict = "right, as far as was looked" if report.ok else f"wrong: {len(report.findings)} finding(s)"
    verdict = "nothing was checked" if report.nothing else verdict
    return f"{verdict} ({listed or 'no check ran'}; {sum(o.seconds for o in report):.1f} s)"


def to_text(report: Report, *, verbose: bool = False) -> str:
    """Return the report as text; see `Report.to_text`."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120, color_system=None, force_terminal=False)
    show(report, console, verbose=verbose)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO
    return text


def _indented(text: str, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}" for line in text.splitlines())
