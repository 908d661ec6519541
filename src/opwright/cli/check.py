"""``opwright check``: checks operators for errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from opwright.cli import STOPPED
from opwright.cli.completion import checks, files_and_operators
from opwright.cli.console import WIDTH, Progress, console_beside, progress, require_folders, usage, write_text

if TYPE_CHECKING:
    from opwright.check.listener import Progress as CheckProgress
    from opwright.check.report import Report


@click.command("check")
@click.argument("targets", nargs=-1, metavar="FILE | MODULE:OP ...", shell_complete=files_and_operators)
@click.option("--reference", help="A function known to be right, as module:name, file.py:name or file.cpp:name.")
@click.option(
    "--signature",
    multiple=True,
    help="The signature, where the source has none, or Opwright didn't build the operator.",
)
@click.option("--quick", "level", flag_value="quick", help="Seconds for a small operator.")
@click.option("--normal", "level", flag_value="normal", default="normal", help="Less than a minute (the default).")
@click.option("--thorough", "level", flag_value="thorough", help="A night.")
@click.option("--only", multiple=True, shell_complete=checks, help="A check or a group of checks; may be repeated.")
@click.option("--skip", multiple=True, shell_complete=checks, help="The same, to leave out.")
@click.option(
    "--device", default="cpu", show_default=True, help="cuda, or emulated: CUDA kernels on the CPU; against the CPU's."
)
@click.option(
    "--straight-through", multiple=True, help="An input, or op.input, whose gradient is meant to be no derivative."
)
@click.option(
    "--domain", multiple=True, help="Values of an input, or op.input, as x=0:1 or 'x=(0, 1]'; may be repeated."
)
@click.option("--example", "examples", help="Calls to vary where sizes are related, as calls.py:examples.")
@click.option("--eps", type=float, help="Say how gradcheck fares with this step in float32, and why.")
@click.option("--sanitize", help="Of address, undefined, thread, those that kernels are built with, as address,thread.")
@click.option("--ulp", type=click.FloatRange(0), help="Units of the last place a value may be off: 64, 8 of halves.")
@click.option("--signed-zero", is_flag=True, help="Zeros have to have the sign of the reference's.")
@click.option("--seed", default=0, show_default=True, help="Where all draws come from.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write the report there; - for the terminal.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write it as JUnit's XML.")
@click.option("-v", "--verbose", is_flag=True, help="Show the table of all checks, and every finding.")
@click.option("--isolate/--no-isolate", default=True, help="Call in a process apart; not for a debugger.")
@click.option("--list", "listed", is_flag=True, help="Show what checks there are.")
def command(
    targets: tuple[str, ...],
    *,
    reference: str | None,
    signature: tuple[str, ...],
    level: Any,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    device: str,
    straight_through: tuple[str, ...],
    domain: tuple[str, ...],
    examples: str | None,
    eps: float | None,
    sanitize: str | None,
    ulp: float | None,
    signed_zero: bool,
    seed: int,
    json_: Path | None,
    junit: Path | None,
    verbose: bool,
    isolate: bool,
    listed: bool,
) -> None:
    """Try operators on calls drawn from their signatures.

    Exit status: 0 nothing is wrong, 1 something is, or all that --only asked for was skipped, 2 the command can't be
    understood, 130 Ctrl-C.
    """
    if listed:
        _list()
        return
    if not targets:
        raise click.UsageError("expected a source file, or an operator as module:name or file.py:name")
    require_folders(json_, junit)
    console = console_beside(WIDTH, json=json_, junit=junit)
    report, stopped = _check(
        targets, console, reference=reference, signature=signature or None, level=level, only=only, skip=skip,
        seed=seed, device=device, straight_through=straight_through, eps=eps, sanitize=sanitize or (), ulp=ulp,
        signed_zero=signed_zero, domains=_domains(domain), examples=examples, isolate=isolate,
    )  # fmt: skip
    _show(report, console, json_, junit, verbose=verbose)
    wrong = not report.ok or (report.nothing and bool(only))
    sys.exit(STOPPED if stopped else int(wrong))


def _domains(given: tuple[str, ...]) -> dict[str, str | tuple[float, float]]:
    """Split ``x=0:1`` at the sign."""
    for text in given:
        if "=" not in text:
            raise click.UsageError(f"--domain {text} has no '=', expected an input and its values: --domain x=0:1")
    return {name.strip(): values for name, _, values in (text.partition("=") for text in given)}


def _check(targets: tuple[str, ...], console: Console, **options: Any) -> tuple[Report, bool]:
    """Run the checks; return the report, and whether Ctrl-C ended them."""
    from opwright.check import check
    from opwright.check.listener import Interrupted
    from opwright.check.request import TargetList

    try:
        with usage(), progress(console) as report_progress:
            return check(TargetList(targets), progress=_one_text(report_progress), **options), False
    except Interrupted as stopped:
        return stopped.report, True


def _show(report: Report, console: Console, json: Path | None, junit: Path | None, *, verbose: bool) -> None:
    from opwright.check.display import show

    show(report, console, verbose=verbose)
    if json:
        write_text(json, report.to_json())
    if junit:
        write_text(junit, report.to_junit())


def _one_text(progress: Progress) -> CheckProgress:
    """Return a callback that reports an operator and its check as one string."""
    return lambda operator, check, done, total: progress(f"{operator}: {check}", done, total)


def _list() -> None:
    from opwright.check.checks import all_checks

    for check in all_checks().values():
        condition = ", only where asked for" if check.on_request else ""
        summary = (check.body.__doc__ or "").strip().splitlines()[0]
        click.echo(f"{check.name:24} {summary} ({check.group}; from {check.level}{condition})")
