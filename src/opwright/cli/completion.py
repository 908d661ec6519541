"""``opwright completion``: what makes a shell complete commands, options, files and operators."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

import opwright.cli.completing  # noqa: F401 - bash's has a class of its own
from opwright.cli import COMPLETE

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def command(shell: str | None) -> None:
    """Print what makes SHELL (by default $SHELL) complete opwright's commands, options, files and operators.

    \b
    bash   eval "$(opwright completion bash)"      in ~/.bashrc
    zsh    eval "$(opwright completion zsh)"       in ~/.zshrc, after compinit
    fish   opwright completion fish > ~/.config/fish/completions/opwright.fish
    """  # noqa: D301 - \b is click's: these lines stay as they are
    found = get_completion_class(shell or _own())
    assert found is not None  # noqa: S101 - one of SHELLS
    click.echo(found(click.Command("opwright"), {}, "opwright", COMPLETE).source())


def _own() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise click.UsageError(f"SHELL is {os.environ.get('SHELL', '')!r}; say which one: {', '.join(SHELLS)}")
    return name
