"""What commands share that take long: a bar, and what was asked for wrongly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import click
from rich.console import Console

from opwright.errors import OpwrightError

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
def usage() -> Iterator[None]:
    """A `ValueError` of the function behind a command is a mistake on the command line."""
    try:
        yield
    except OpwrightError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error
