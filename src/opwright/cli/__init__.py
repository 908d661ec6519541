"""The ``opwright`` command. Each subcommand is a module that is imported when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import cast

import click

from opwright._version import __version__
from opwright.errors import OpwrightError

_COMMANDS = {
    "audit": "Look into wheels: what they need, what would stop them from loading where.",
    "bench": "Time operators and what else computes the same: are they fast, what limits them?",
    "build": "Compile every kernel in source files, for every element type.",
    "cache": "Show the build cache, or empty it.",
    "check": "Try operators on calls drawn from their signatures: are they right?",
    "demo": "Build, check and time the example operators.",
    "doctor": "Look at compilers, PyTorch, CUDA, the cache: what is wrong, what to type.",
    "info": "Show what operators source files define.",
    "migrate": "Report what an old extension uses that PyTorch has no more, and rewrite it.",
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
    try:
        cli()
    except (OpwrightError, ModuleNotFoundError) as error:
        click.echo(f"opwright: error: {error}", err=True)
        sys.exit(1)
