"""``opwright check``: is an operator right?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from opwright.cli.asking import TERMINAL, WIDTH, Told, console_beside, progress, require_folders, usage
from opwright.cli.completing import files_and_operators

if TYPE_CHECKING:
    from opwright.check.report import Report
    from opwright.check.runner import Progress


_STOPPED = 130
"""The exit status of what Ctrl-C has ended, as shells have it."""


@click.command("check")
@click.argument("targets", nargs=-1, metavar="FILE | MODULE:OP ...", shell_complete=files_and_operators)
@click.option("--reference", help="A function known to be right, as module:name, file.py:name or file.cpp:name.")
@click.option("--signature", multiple=True, help="The signature, where Opwright didn't build the operator.")
@click.option("--quick", "level", flag_value="quick", help="Seconds for a small operator.")
@click.option("--normal", "level", flag_value="normal", default="normal", help="Less than a minute (the default).")
@click.option("--thorough", "level", flag_value="thorough", help="A night.")
@click.option("--only", multiple=True, help="A check or a group of checks; may be repeated.")
@click.option("--skip", multiple=True, help="The same, to leave out.")
@click.option(
    "--device", default="cpu", show_default=True, help="cuda, or emulated: CUDA kernels on the CPU; against the CPU's."
)
@click.option(
    "--straight-through", multiple=True, help="An input, or op.input, whose gradient is meant to be no derivative."
)
@click.option("--eps", type=float, help="Say how gradcheck fares with this step in float32, and why.")
@click.option("--sanitize", help="Of address, undefined, thread, those that kernels are built with, as address,thread.")
@click.option("--ulp", type=click.FloatRange(0), help="Units of the last place a value may be off: 64, 8 of halves.")
@click.option("--signed-zero", is_flag=True, help="Zeros have to have the sign of the reference's.")
@click.option("--seed", default=0, show_default=True, help="Where all draws come from.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write the report there; - for the terminal.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write it as JUnit's XML.")
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
    eps: float | None,
    sanitize: str | None,
    ulp: float | None,
    signed_zero: bool,
    seed: int,
    json_: Path | None,
    junit: Path | None,
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
    report, stopped = _checked(
        targets, console, reference=reference, signature=signature or None, level=level, only=only, skip=skip,
        seed=seed, device=device, straight_through=straight_through, eps=eps, sanitize=sanitize or (), ulp=ulp,
        signed_zero=signed_zero,
    )  # fmt: skip
    _tell(report, console, json_, junit)
    wrong = not report.ok or (report.nothing and bool(only))
    sys.exit(_STOPPED if stopped else int(wrong))


def _checked(targets: tuple[str, ...], console: Console, **options: Any) -> tuple[Report, bool]:
    """The report, and whether Ctrl-C ended it."""
    from opwright.check import check
    from opwright.check.asked import Several
    from opwright.check.runner import Interrupted

    try:
        with usage(), progress(console) as told:
            return check(Several(targets), progress=_worded(told), **options), False
    except Interrupted as stopped:
        return stopped.report, True


def _tell(report: Report, console: Console, json: Path | None, junit: Path | None) -> None:
    from opwright.check.table import show

    show(report, console)
    if json:
        _write(json, report.to_json())
    if junit:
        _write(junit, report.to_junit())


def _worded(told: Told | None) -> Progress | None:
    """An operator and its check as one text."""
    if told is None:
        return None
    return lambda operator, check, done, total: told(f"{operator}: {check}", done, total)


def _write(path: Path, text: str) -> None:
    if path == TERMINAL:
        click.echo(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error


def _list() -> None:
    from opwright.check.registry import all_checks

    for check in all_checks().values():
        asked = ", only where asked for" if check.asked else ""
        what = (check.body.__doc__ or "").strip().splitlines()[0]
        click.echo(f"{check.name:24} {what} ({check.group}; from {check.level}{asked})")
