"""The options of ``%%opwright``: those of ``opwright build`` that apply to a cell."""

from __future__ import annotations

import keyword
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import click

from opwright.signature import DType
from opwright.signature.dtypes import BY_ANY_NAME

LANGUAGES = {"cpp": ".cpp", "c": ".c", "cuda": ".cu"}


@dataclass(frozen=True)
class Arguments:
    """The parsed arguments of the magic's line.

    Attributes:
        variable: the variable for all operators together; if None, each operator becomes a variable.
        language: one of `LANGUAGES`; None: guessed from the cell.
        dtypes: additional element types to compile immediately.
        lazy: compile nothing before the first call.
        options: keyword arguments of `opwright.load_inline`.
    """

    variable: str | None
    language: str | None
    dtypes: tuple[DType, ...]
    lazy: bool
    ops: tuple[str, ...]
    namespace: str | None
    options: dict[str, object]


def _variable(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and (not value.isidentifier() or keyword.iskeyword(value)):
        raise click.BadParameter(f"{value!r} can't be the name of a variable")
    return value


def _dtypes(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[DType, ...]:
    for value in values:
        if value.removeprefix("torch.") not in BY_ANY_NAME:
            known = ", ".join(dtype.torch_name for dtype in DType)
            raise click.BadParameter(f"{value!r} is no element type, expected one of {known}")
    return tuple(BY_ANY_NAME[value.removeprefix("torch.")] for value in values)


_PARAMETERS: list[click.Parameter] = [
    click.Argument(["variable"], required=False, metavar="[VARIABLE]", callback=_variable),
    click.Option(["--c", "language"], flag_value="c", help="The cell is C; otherwise it is C++, or CUDA by its look."),
    click.Option(["--cpp", "language"], flag_value="cpp", help="The cell is C++."),
    click.Option(["--cuda", "language"], flag_value="cuda", help="The cell is CUDA."),
    click.Option(["--backend"], help="What compiles CUDA: nvcc, nvrtc, or emulate, which runs it on the CPU."),
    click.Option(["--ops"], multiple=True, help="The signature of a function without a mark; may be repeated."),
    click.Option(["--namespace"], help="Below torch.ops; by default the name of the first operator."),
    click.Option(
        ["--dtype", "dtypes"],
        multiple=True,
        callback=_dtypes,
        help="An element type to compile now, as float64; may be repeated. By default float32, or the first allowed.",
    ),
    click.Option(["--lazy"], is_flag=True, help="Compile nothing now, but when a call needs it."),
    click.Option(["--debug"], is_flag=True, help="Compile with -g -O0."),
    click.Option(["--cflag", "extra_cflags"], multiple=True, help="A word for the compiler; may be repeated."),
    click.Option(["--ldflag", "extra_ldflags"], multiple=True, help="A word for the linker; may be repeated."),
    click.Option(["-I", "include_dirs"], multiple=True, help="A folder with headers; may be repeated."),
    click.Option(["-L", "library_dirs"], multiple=True, help="A folder with libraries; may be repeated."),
    click.Option(["-l", "libraries"], multiple=True, help="A library to link with; may be repeated."),
    click.Option(["-h", "--help", "help"], is_flag=True, help="Show this, and do nothing."),
]
_LOAD_OPTIONS = ("backend", "debug", "extra_cflags", "extra_ldflags", "include_dirs", "library_dirs", "libraries")
COMMAND = click.Command(
    "%%opwright",
    params=_PARAMETERS,
    add_help_option=False,
    help="Make operators of the cell, and load them again when it is run again.\n\nThey land under their own names; or,"
    " where VARIABLE is given, together under that one.",
)


def parse_line(line: str) -> Arguments | None:
    """Parse the magic's line; return None if it requests help.

    Raises:
        click.UsageError: the line is invalid; the text has the error and perhaps a suggestion.
    """
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise click.UsageError(f"{line!r} can't be split into words: {error}") from None
    values = COMMAND.make_context(COMMAND.name, arguments).params
    if values.pop("help"):
        return None
    options = {name: values.pop(name) for name in _LOAD_OPTIONS}
    return Arguments(**values, options=options)


def help_text() -> str:
    """Return the help text."""
    with click.Context(COMMAND, info_name=COMMAND.name, max_content_width=100, terminal_width=100) as context:
        return COMMAND.get_help(context)
