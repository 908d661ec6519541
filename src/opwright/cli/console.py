"""Shared by subcommands: progress bar, usage errors, consoles, and tables of findings."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console

from opwright.doctor.findings import Report, State
from opwright.errors import OpwrightError, SignatureError, SourceError
from opwright.log import EVERY, listening
from opwright.signature.dtypes import BY_ANY_NAME

TERMINAL = Path("-")
DTYPES = click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    type=click.Choice([*BY_ANY_NAME]),
    metavar="TYPE",
    help="An element type, as float64 or f64; may be repeated. Only these are compiled.",
)
"""The option of commands that compile every element type by default."""
WIDTH = 120
"""Columns of a table if the terminal's width is unknown."""

Progress = Callable[[str, int, int], None]
"""Called with the name of the step that begins, the work done, and the total."""


@contextlib.contextmanager
def progress(console: Console) -> Iterator[Progress]:
    """Show a progress bar if the console is a terminal; else a line on stderr now and then."""
    if not console.is_terminal:
        yield _lines()
        return
    from rich import progress as bars
    from rich.markup import escape

    with bars.Progress(console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        with listening(lambda line: bar.update(task, description=escape(line))):
            yield lambda what, done, total: bar.update(task, description=escape(what), completed=done, total=total)


def _lines() -> Progress:
    """Return a callback that writes a step to stderr if `log.EVERY` seconds have passed since the last one."""
    last = [time.monotonic()]

    def report(what: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] >= EVERY:
            last[0] = time.monotonic()
            click.echo(f"opwright: {done}/{total} {what}", err=True)

    return report


@contextlib.contextmanager
def usage(*mistakes: type[OpwrightError]) -> Iterator[None]:
    """Convert errors about the command line's arguments to usage errors (status 2).

    These are `ValueError` and, of Opwright's errors, `SourceError`, `SignatureError` and `mistakes`, but not
    `ArgumentError`: operators raise it while they run.
    """
    usage_errors: tuple[type[OpwrightError], ...] = (SignatureError, SourceError, *mistakes)
    try:
        yield
    except usage_errors as error:
        raise click.UsageError(str(error)) from error
    except OpwrightError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def console_beside(width: int, **files: Path | None) -> Console:
    """Return a console: on stderr if one of `files` is stdout; `width` columns wide if it isn't a terminal.

    Raises:
        click.UsageError: two of the files are stdout.
    """
    taken = [f"--{name}" for name, path in files.items() if path == TERMINAL]
    if len(taken) > 1:
        raise click.UsageError(f"one of {' and '.join(taken)} may go to the terminal, not both")
    console = Console(stderr=bool(taken))
    return console if console.is_terminal else Console(stderr=bool(taken), width=width)


def require_folders(*paths: Path | None) -> None:
    """Check that files can be written, before the work starts.

    Raises:
        click.BadParameter: a path's folder doesn't exist.
    """
    for path in filter(None, paths):
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"{path}: its folder doesn't exist")


def write_text(path: Path | None, text: str) -> None:
    """Write text to a file, or to stdout for ``-``; nowhere without a path.

    Raises:
        click.FileError: the file can't be written.
    """
    if path == TERMINAL:
        click.echo(text.removesuffix("\n"))
    elif path is not None:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(path), error.strerror) from error


_MARK: dict[State, str] = {"ok": "ok", "note": "note", "wrong": "WRONG"}
_STYLE: dict[State, str] = {"ok": "green", "note": "yellow", "wrong": "bold red"}


def show(report: Report, well: str) -> None:
    """Print a report of findings, and in the last line the errors found, or `well`."""
    if sys.stdout.isatty():
        _show_table(report, well)
    else:
        _show_lines(report, well)


def _show_lines(report: Report, well: str) -> None:
    """Print one line per finding and one for its fix; easy to search and to send."""
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
