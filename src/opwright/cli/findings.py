"""A report of findings on the terminal: a table for a person, a line each for a file."""

from __future__ import annotations

import sys

import click

from opwright.doctor.model import Report, State

_MARK: dict[State, str] = {"ok": "ok", "note": "note", "wrong": "WRONG"}
_STYLE: dict[State, str] = {"ok": "green", "note": "yellow", "wrong": "bold red"}


def show(report: Report, well: str) -> None:
    """Print it; the last line says what is wrong, or `well`."""
    if sys.stdout.isatty():
        _show_table(report, well)
    else:
        _show_lines(report, well)


def _show_lines(report: Report, well: str) -> None:
    """One line for each finding, and one for what to do about it: to be searched and sent."""
    for section in report.sections:
        for finding in section.findings:
            click.echo(f"{_MARK[finding.state]:5}  {section.name}: {finding.topic}: {finding.text}")
            if finding.fix:
                click.echo(f"       -> {finding.fix}")
    click.echo(_summary(report, well))


def _show_table(report: Report, well: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for section in report.sections:
        table.add_row(Text(section.name, style="bold"), "", "", "")
        for finding in section.findings:
            text = Text(finding.text)
            if finding.fix:
                text.append(f"\n-> {finding.fix}", style="bold" if finding.state == "wrong" else "dim")
            mark = Text(_MARK[finding.state], style=_STYLE[finding.state])
            table.add_row("", mark, finding.topic, text)
    console = Console()
    console.print(table)
    console.print(Text(_summary(report, well), style="bold red" if report.wrong else "bold green"))


def _summary(report: Report, well: str) -> str:
    if not report.wrong:
        return well
    places = ", ".join(f"{section} ({finding.topic})" for section, finding in report.wrong)
    count = len(report.wrong)
    return f"{count} {'thing is' if count == 1 else 'things are'} wrong: {places}"
