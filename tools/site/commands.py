"""The page of the commands, made from their help texts."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator

import click
from catalogue import table  # beside this file

from opwright.cli import cli


def page() -> str:
    """Return the page, in Markdown."""
    return "# Commands\n" + "".join(map(_section, _walk(click.Context(cli, info_name="opwright"))))


def _walk(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below and not below.hidden:
                yield from _walk(click.Context(below, info_name=name, parent=context))


def _section(context: click.Context) -> str:
    usage = context.command.get_usage(context).removeprefix("Usage: ")
    usage = " ".join(usage.split())
    help_ = "".join(map(_paragraph, inspect.cleandoc(context.command.help or "").split("\n\n")))
    records = [
        option.get_help_record(context)
        for option in context.command.get_params(context)
        if isinstance(option, click.Option)
    ]
    rows = [(f"`{written}`", _escaped(text)) for written, text in filter(None, records)]
    return f"\n## {context.command_path}\n\n```text\n{usage}\n```\n\n{help_}" + table(("option", "what it does"), rows)


def _paragraph(text: str) -> str:
    """Format a paragraph of a help text; Click's backspace mark keeps its line breaks."""
    if text.startswith("\b"):
        return f"```text\n{text.lstrip(chr(8)).strip(chr(10))}\n```\n\n"
    return _escaped(text) + "\n\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_[|])", r"\\\1", html.escape(text, quote=False))
