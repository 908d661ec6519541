"""``opwright doctor``: shows the tools for building and running operators, problems, and commands that fix them."""

from __future__ import annotations

import json
import sys

import click

from opwright.doctor import SECTIONS, examine


@click.command("doctor")
@click.argument("sections", nargs=-1, type=click.Choice(SECTIONS), metavar="[SECTION]...")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(sections: tuple[str, ...], as_json: bool) -> None:
    """Examine what builds and runs operators on this machine: what there is and where, what is wrong, how to fix it.

    Examines compilers, the cache, PyTorch, the runtime, CUDA, GPUs, environment variables, ninja and packages, or only
    the named SECTIONs. Builds nothing. The status is 0 if all is well and 1 if something is wrong; what isn't needed on
    the CPU is a note.
    """
    report = examine(sections)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        from opwright.cli.console import show  # while PyTorch is imported, it would delay the start of that

        show(report, "all is well")
    if report.wrong:
        sys.exit(1)
