"""``opwright emulate``: compiles a CUDA program for the CPU and runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from opwright.cuda.programs import build_program
from opwright.cuda.programs.command_line import parse
from opwright.errors import OpwrightError


@click.command(
    "emulate",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
)
@click.argument(
    "words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="FILES... [OPTIONS] [-- ARGUMENTS...]"
)
def command(words: tuple[str, ...]) -> int:
    """Run an unmodified CUDA program on the CPU.

    \b
    opwright emulate vector_add.cu
    opwright emulate --check reduce.cu main.cu -I include -D N=1000 -O2 -- 256 100

    FILES are the program's sources (.cu, .cpp, .c), OPTIONS those of nvcc. --check checks every access of every kernel:
    races, bounds, memory that nobody has written. What is behind -- is the program's. The exit status is the
    program's, or 70 where a kernel goes wrong, with a report.
    """  # noqa: D301 - click's \b
    split = words.index("--") if "--" in words else len(words)
    request = parse(words[:split])
    if not request.sources:
        raise click.UsageError("no source file is named, as in opwright emulate prog.cu -- ARGUMENTS")
    program = build_program(request)
    arguments = [str(Path(request.sources[0]).with_suffix("")), *words[split + 1 :]]
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(program, arguments)  # noqa: S606 - no shell is involved
    except OSError as error:
        raise OpwrightError(f"{program} can't be run: {error.strerror or error}") from error
