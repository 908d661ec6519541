"""The ``opwright`` command. Each subcommand is a module that is imported when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, cast

import click

from opwright._version import __version__
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETE = "_OPWRIGHT_COMPLETE"  # what shells ask with (`opwright completion`), whatever the program is called
_COMMANDS = {
    "audit": "Look into wheels: what they need, what would stop them from loading where.",
    "bench": "Time operators and what else computes the same: are they fast, what limits them?",
    "build": "Compile every kernel in source files, for every element type.",
    "cache": "Show the build cache, list what is in it, or empty it.",
    "check": "Try operators on calls drawn from their signatures: are they right?",
    "completion": "Print what makes a shell complete all this.",
    "demo": "Build, check and time the example operators.",
    "doctor": "Look at compilers, PyTorch, CUDA, the cache: what is wrong, what to type.",
    "info": "Show what operators source files define.",
    "migrate": "Report what an old extension uses that PyTorch has no more, and rewrite it.",
    "new": "Write a project around one operator: source, module, tests, benchmark, packaging.",
    "run": "Run a script written for PyTorch 0.1 to 0.4, with the C FFI.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        return cast("click.Command", importlib.import_module(f"opwright.cli.{cmd_name}").command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, without importing them; then the options."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=_COMMANDS[name]) for name in sorted(_COMMANDS) if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opwright")
def cli() -> None:
    """Write the kernel, get the operator: C and C++ kernels as PyTorch operators."""


def main() -> None:
    """Run the command; an error of Opwright's is a message and status 1, not a traceback."""
    if COMPLETE in os.environ:
        importlib.import_module("opwright.cli.completing")
    try:
        cli(complete_var=COMPLETE)
    except (OpwrightError, ModuleNotFoundError) as error:
        click.echo(f"opwright: error: {error}", err=True)
        sys.exit(1)
