"""``opwright doctor``: what this machine has for building and running operators, what is wrong, and what to type."""

from __future__ import annotations

import json
import sys

import click

from opwright.doctor import SECTIONS, Report, State, examine

_MARK: dict[State, str] = {"ok": "ok", "note": "note", "wrong": "WRONG"}
_STYLE: dict[State, str] = {"ok": "green", "note": "yellow", "wrong": "bold red"}


@click.command("doctor")
@click.argument("sections", nargs=-1, type=click.Choice(SECTIONS), metavar="[SECTION]...")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(sections: tuple[str, ...], as_json: bool) -> None:
    """Look at what builds and runs operators here: what was found where, what is wrong, what to type.

    Compilers, the cache, PyTorch, the runtime, CUDA, GPUs, environment variables, ninja, packages; or only the SECTIONs
    that are named. Builds nothing. The status is 0 if all is well and 1 if something is wrong; what isn't needed on
    the CPU is a note.
    """
    report = examine(sections)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    elif sys.stdout.isatty():
        _show_table(report)
    else:
        _show_lines(report)
    if report.wrong:
        sys.exit(1)


def _show_lines(report: Report) -> None:
    """One line for each finding, and one for what to do about it: to be searched and sent."""
    for section in report.sections:
        for finding in section.findings:
            click.echo(f"{_MARK[finding.state]:5}  {section.name}: {finding.topic}: {finding.text}")
            if finding.fix:
                click.echo(f"       -> {finding.fix}")
    click.echo(_summary(report))


def _show_table(report: Report) -> None:
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
    console.print(Text(_summary(report), style="bold red" if report.wrong else "bold green"))


def _summary(report: Report) -> str:
    if not report.wrong:
        return "all is well"
    places = ", ".join(f"{section} ({finding.topic})" for section, finding in report.wrong)
    count = len(report.wrong)
    return f"{count} {'thing is' if count == 1 else 'things are'} wrong: {places}"
