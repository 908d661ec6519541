"""What commands share that take long: a bar, and what was asked for wrongly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from rich.console import Console

from opwright.errors import OpwrightError, SignatureError, SourceError

TERMINAL = Path("-")
STOPPED = 130
"""The exit status of what Ctrl-C has ended, as shells have it."""
WIDTH = 120
"""Columns of a table where nobody says how wide the terminal is."""

Told = Callable[[str, int, int], None]
"""Called with what begins, how much is done, and how much there is."""


@contextlib.contextmanager
def progress(console: Console) -> Iterator[Told | None]:
    """A bar, where somebody is looking."""
    if not console.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@contextlib.contextmanager
def usage(*mistakes: type[OpwrightError]) -> Iterator[None]:
    """What the function behind a command doesn't understand is a mistake on the command line: status 2.

    That is a `ValueError`; of Opwright's own, a target or a signature that isn't there or can't be read, and
    `mistakes`. An `ArgumentError` alone is none: operators raise it while they run.
    """
    own: tuple[type[OpwrightError], ...] = (SignatureError, SourceError, *mistakes)
    try:
        yield
    except own as error:
        raise click.UsageError(str(error)) from error
    except OpwrightError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def console_beside(width: int, **files: Path | None) -> Console:
    """A console, stderr's where one of these goes to stdout; `width` columns wide where nobody says how wide it is.

    Raises:
        click.UsageError: two of them would go there.
    """
    taken = [f"--{name}" for name, path in files.items() if path == TERMINAL]
    if len(taken) > 1:
        raise click.UsageError(f"one of {' and '.join(taken)} may go to the terminal, not both")
    console = Console(stderr=bool(taken))
    return console if console.is_terminal else Console(stderr=bool(taken), width=width)


def require_folders(*paths: Path | None) -> None:
    """Say what can't be written while nothing has been done yet.

    Raises:
        click.BadParameter: a path's folder doesn't exist.
    """
    for path in filter(None, paths):
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"{path}: its folder doesn't exist")
