"""``opwright nvcc``: takes nvcc's command line, and makes programs that run on the CPU."""

from __future__ import annotations

import click

from opwright.cuda.programs import run_nvcc


@click.command(
    "nvcc",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    options_metavar="",
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="OPTIONS FILES...")
def command(arguments: tuple[str, ...]) -> int:
    """Compile CUDA programs with nvcc's options, for the CPU.

    \b
    make NVCC="opwright nvcc"
    make NVCC="opwright nvcc --check"
    opwright nvcc -O2 -std=c++17 -arch=sm_80 prog.cu more.cu -o prog

    Options about GPUs (-arch, -gencode, -Xptxas) change nothing. --check checks every access of every kernel. A kernel
    that goes wrong ends the program with a report and status 70.
    """  # noqa: D301 - click's \b
    if arguments in (("--help",), ("-h",)):
        click.echo(click.get_current_context().get_help())
        return 0
    return run_nvcc(arguments)
