"""``opwright audit``: the requirements of wheels, and the reasons why they wouldn't load on a target."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from opwright._version import OLDEST_PYTORCH
from opwright.cli.console import show
from opwright.doctor.findings import Report, Section, from_error
from opwright.errors import PackagingError
from opwright.packaging.audit import Target, audit


class _Version(click.ParamType[tuple[int, int]]):
    """A version of two numbers; further numbers are dropped."""

    name = "version"

    def __init__(self, example: str) -> None:
        self._example = example

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        match = re.fullmatch(r"(\d+)\.(\d+)(\..*)?", str(value))
        if match is None:
            self.fail(f"{value!r} is no version, expected as in {self._example}", param, ctx)
        return int(match[1]), int(match[2])


@click.command("audit")
@click.argument("wheels", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--python", type=_Version("3.12"), help="Would it load with this Python?")
@click.option("--torch", type=_Version(OLDEST_PYTORCH), help="With this PyTorch?")
@click.option("--glibc", type=_Version("2.28"), help="With this glibc (what `ldd --version` says)?")
@click.option("--gpu", type=_Version("9.0"), help="Would its kernels run on a GPU of this compute capability, as 9.0?")
@click.option("--machine", help="On this architecture, as x86_64 or aarch64?")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(wheels: tuple[Path, ...], as_json: bool, **options: tuple[int, int] | str | None) -> None:
    """Look into WHEELS: the glibc, libraries, symbols, PyTorch, Python and GPUs that they need; are they whole?

    What a wheel's tags and requirements promise, and its libraries don't keep, is wrong; so is what keeps it from
    loading where the options say. Needs neither PyTorch nor a compiler. The status is 0 if nothing is wrong, else 1.
    """
    target = Target(**options) if any(options.values()) else None  # type: ignore[arg-type] # click converts the values
    reports = {path: _report(path, target) for path in wheels}
    if as_json:
        click.echo(json.dumps({path.name: report.to_json() for path, report in reports.items()}, indent=2))
    else:
        for path, report in reports.items():
            _show(path, report)
    if any(report.wrong for report in reports.values()):
        sys.exit(1)


def _report(path: Path, target: Target | None) -> Report:
    """Return the findings in a wheel; a file that isn't a wheel is a finding, too."""
    try:
        return audit(path, target)
    except PackagingError as error:
        return Report((Section("wheel", (from_error("file", error),)),))


def _show(path: Path, report: Report) -> None:
    click.echo(click.style(path.name, bold=True))
    show(report, "nothing stops it")
