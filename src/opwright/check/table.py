"""A report for people: a table, then what is wrong with a reproducer each."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from opwright.check.report import Report

_STYLES = {"passed": "green", "failed": "bold red", "error": "bold red", "skipped": "yellow"}


def show(report: Report, console: Console) -> None:
    """Print the report."""
    table = Table("operator", "check", "result", "seconds", "what was compared")
    last = ""
    for o in report:
        status = f"[{_STYLES[o.status]}]{o.status}[/]"
        table.add_row(o.operator if o.operator != last else "", o.check, status, f"{o.seconds:.1f}", escape(o.detail))
        last = o.operator
    console.print(table)
    for o in report:
        for finding in o.findings:
            console.print(f"[bold red]{escape(o.operator)}: {o.check}: {finding.kind}[/]")
            console.print(_indented(finding.message), markup=False, highlight=False, soft_wrap=True)
            if finding.reproducer:
                console.print("  to see it:", style="bold")
                console.print(_indented(finding.reproducer, 4), markup=False, highlight=False, soft_wrap=True)
    console.print(summary(report), style=_style(report))


def _style(report: Report) -> str:
    return "bold red" if not report.ok else "yellow" if report.nothing else "green"


def summary(report: Report) -> str:
    """One line."""
    count = {status: sum(o.status == status for o in report) for status in _STYLES}
    listed = ", ".join(f"{number} {status}" for status, number in count.items() if number)
    verdict = "right, as far as was looked" if report.ok else f"wrong: {len(report.findings)} finding(s)"
    verdict = "nothing was checked" if report.nothing else verdict
    return f"{verdict} ({listed or 'no check ran'}; {sum(o.seconds for o in report):.1f} s)"


def plain(report: Report) -> str:
    """The report as text without colours, 120 columns wide."""
    console = Console(file=io.StringIO(), width=120, color_system=None, force_terminal=False)
    show(report, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO
    return text


def _indented(text: str, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}" for line in text.splitlines())
