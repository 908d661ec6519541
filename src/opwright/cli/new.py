"""``opwright new``: creates a complete project around one operator."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from opwright.scaffold import KINDS, new


def _kinds(function: Callable[..., None]) -> Callable[..., None]:
    """Add one option per kind."""
    for kind, facts in reversed(KINDS.items()):
        function = click.option(f"--{kind}", is_flag=True, help=facts.help)(function)
    return function


@click.command("new")
@click.argument("name")
@_kinds
def command(name: str, **kinds: bool) -> None:
    """Write a project around one operator into the new folder NAME.

    Source, function and nn.Module, tests, benchmark, Makefile, packaging, CI, and settings for editors with clangd: it
    builds, and passes its tests and linters. NAME is the project's, the package's and the operator's; a path may
    stand before it.

    Exit status: 0; 1 where no project can have that name, or the folder isn't empty: nothing is changed then.
    """
    chosen = [kind for kind in KINDS if kinds[kind]]
    if len(chosen) > 1:
        raise click.UsageError(f"a project is of one kind, and got --{' and --'.join(chosen)}")
    paths = new(name, *chosen)
    folder = Path(os.path.abspath(name))
    source = next(path for path in paths if path.parent.name == "csrc")
    click.echo(f"{name}: {len(paths)} files; the operator is in {source.relative_to(folder)}")
    click.echo(f"  cd {name}\n  make         compile it\n  make test    test it\n  make bench   time it")
