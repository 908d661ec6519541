"""The ``opwright`` command. Each subcommand is a module that is imported when the subcommand is used."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from typing import TYPE_CHECKING, cast

import click

from opwright._version import __version__
from opwright.errors import OpwrightError, SignatureError, SourceError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETE = "_OPWRIGHT_COMPLETE"  # the variable that shells set for completion, independent of the program's name
_FIRST = ("new", "info", "check", "bench")
"""The commands that a new user needs, in the order in which they are needed."""
_COMMANDS = {
    "new": "Write a project around one operator: source, module, tests, benchmark, packaging.",
    "info": "Show what operators source files define.",
    "check": "Try operators on calls drawn from their signatures: are they right?",
    "bench": "Time operators and what else computes the same: are they fast, what limits them?",
    "audit": "Look into wheels: what they need, what would stop them from loading where.",
    "build": "Compile every kernel in source files, for every element type.",
    "bundle": "Write operators as one library for C++ programs, without Python.",
    "cache": "Show the build cache, list what is in it, or empty it.",
    "completion": "Print what makes a shell complete all this.",
    "demo": "Build, check and time the example operators.",
    "doctor": "Look at compilers, PyTorch, CUDA, the cache: what is wrong, what to type.",
    "emulate": "Run a CUDA program on the CPU, unmodified.",
    "migrate": "Report what an old extension uses that PyTorch has no more, and rewrite it.",
    "nvcc": "Compile CUDA programs with nvcc's options, for the CPU.",
    "run": "Run a script written for PyTorch 0.1 to 0.4, with the C FFI.",
}
STOPPED = 130
"""The exit status after Ctrl-C, as in shells."""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        return cast("click.Command", importlib.import_module(f"opwright.cli.{cmd_name}").command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for one that isn't there, name those that were probably meant."""
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, 2)
            meant = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {meant}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, without importing them, then options."""
        from click.shell_completion import CompletionItem

        names = [name for name in sorted(_COMMANDS) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=_COMMANDS[name]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Begin with"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in _FIRST])
        with formatter.section("More commands"):
            formatter.write_dl([(name, text) for name, text in _COMMANDS.items() if name not in _FIRST])


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opwright")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Write the kernel, get the operator: C and C++ kernels as PyTorch operators.

    \b
    opwright new my-op && cd my-op && make test    a project, with an operator to begin from

    Exit status of every command: 0 all is well; 1 something is wrong, or failed; 2 the command, or a file that it
    names, can't be understood; 130 Ctrl-C.
    """  # noqa: D301 - \b is click's: this line stays as it is
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command; print an error as a message that begins with ``opwright: error:``, without a traceback."""
    if COMPLETE in os.environ:
        importlib.import_module("opwright.cli.completion")
    sys.exit(_status())


def _status() -> int:
    """Run the command, print its error if there is one, and return the exit status."""
    try:
        value = cli(complete_var=COMPLETE, standalone_mode=False)
    except click.UsageError as error:
        text = error.format_message()
        if error.ctx and "likely fix: " not in text:
            text += f"\n  likely fix: {error.ctx.command_path} --help"
        return _failed(text, 2)
    except click.ClickException as error:
        return _failed(error.format_message(), 1)
    except click.Abort:
        return _failed("stopped", STOPPED)
    except (SignatureError, SourceError) as error:
        return _failed(str(error), 2)
    except (OpwrightError, ModuleNotFoundError) as error:
        return _failed(str(error), 1)
    return value if isinstance(value, int) else 0


def _failed(text: str, status: int) -> int:
    click.echo(f"opwright: error: {text}", err=True)
    return status
