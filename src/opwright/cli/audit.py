"""``opwright audit``: what wheels need, and what would stop them from loading where."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from opwright.cli.findings import show
from opwright.doctor.model import Report
from opwright.packaging.audit import Target, audit


class _Version(click.ParamType[tuple[int, int]]):
    name = "version"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        match = re.fullmatch(r"(\d+)\.(\d+)(\..*)?", str(value))
        if match is None:
            self.fail(f"{value!r} is no version, expected as in 2.10", param, ctx)
        return int(match[1]), int(match[2])


_VERSION = _Version()


@click.command("audit")
@click.argument("wheels", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--python", type=_VERSION, help="Would it load with this Python?")
@click.option("--torch", type=_VERSION, help="With this PyTorch?")
@click.option("--glibc", type=_VERSION, help="With this glibc (what `ldd --version` says)?")
@click.option("--gpu", type=_VERSION, help="Would its kernels run on a GPU of this compute capability, as 9.0?")
@click.option("--machine", help="On this architecture, as x86_64 or aarch64?")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(wheels: tuple[Path, ...], as_json: bool, **asked: tuple[int, int] | str | None) -> None:
    """Look into WHEELS: the glibc, libraries, symbols, PyTorch, Python and GPUs that they need; are they whole?

    What a wheel's tags and requirements promise, and its libraries don't keep, is wrong; so is what keeps it from
    loading where the options say. Needs neither PyTorch nor a compiler. The status is 0 if nothing is wrong, else 1.
    """
    target = Target(**asked) if any(asked.values()) else None  # type: ignore[arg-type] # click gives what they are for
    reports = {path: audit(path, target) for path in wheels}
    if as_json:
        click.echo(json.dumps({path.name: report.to_json() for path, report in reports.items()}, indent=2))
    else:
        for path, report in reports.items():
            _show(path, report)
    if any(report.wrong for report in reports.values()):
        sys.exit(1)


def _show(path: Path, report: Report) -> None:
    click.echo(click.style(path.name, bold=True))
    show(report, "nothing stops it")
