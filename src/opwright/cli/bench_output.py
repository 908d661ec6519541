"""Where ``opwright bench`` puts what it measured, and the exit status that follows from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opwright.cli.asking import TERMINAL, console_beside

if TYPE_CHECKING:
    from opwright.bench.report import Report


def read(path: Path) -> Report:
    """A report that was written earlier."""
    from opwright.bench.report import Report

    try:
        return Report.read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error
    except ValueError as error:  # UnicodeDecodeError is one
        raise click.FileError(str(path), f"{error}\n  likely fix: name a file that --json has written") from error


@dataclass
class Output:
    """The files that were asked for; ``-`` is the terminal, and tables for people then go to stderr."""

    json: Path | None
    markdown: Path | None
    pictures: tuple[Path, ...]

    def __post_init__(self) -> None:
        """Find out where tables go."""
        from opwright.bench.table import WIDTH

        self.console = console_beside(WIDTH, json=self.json, markdown=self.markdown)

    def check(self) -> None:
        """Say what can't be written while nothing has been measured yet."""
        from opwright.bench.picture import SUFFIXES, require

        for path in filter(None, (self.json, self.markdown, *self.pictures)):
            if not path.absolute().parent.is_dir():
                raise click.FileError(str(path), "its folder doesn't exist")
        for path in self.pictures:
            if path.suffix not in SUFFIXES:
                raise click.BadParameter(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")
        if self.pictures:
            require()

    def report(self, report: Report, limit: float | None, against: Collection[str]) -> int:
        """Write and show a report; the exit status."""
        from opwright.bench import limit as limits
        from opwright.bench import table
        from opwright.bench.picture import draw

        if report.measurements or not report.stopped:
            self._write(self.json, report.to_json())
            self._write(self.markdown, table.markdown(report))
        table.show(report, self.console)
        if self.pictures and report.measurements and not report.stopped:
            draw(report, *self.pictures)
        lost = set(against) - {each.candidate for each in report.measurements}
        wrong = [f"{name} wasn't measured" for name in against if name in lost]
        if report.crashes:
            wrong.append(f"calls that end the process: {len(report.crashes)}")
        if report.stopped:
            wrong.append("the report isn't whole" + (": no picture is drawn of it" if self.pictures else ""))
        if not report.measurements:
            wrong.append("nothing was measured")
        if limit is None:
            return self._judged(wrong)
        self._unclear(limits.unclear(limits.judged(report), limit), limit)
        return self._judged([*wrong, *limits.regressions(report, limit)])

    def changes(self, before: Report, after: Report, limit: float | None) -> int:
        """Write and show what changed between two reports; the exit status."""
        from opwright.bench import changes
        from opwright.bench import limit as limits
        from opwright.bench.comparison import compared

        found = compared(before, after)
        self._write(self.json, found.to_json())
        self._write(self.markdown, changes.markdown(found))
        changes.show(found, self.console)
        if limit is None:
            return 0
        own = [each.ratio for each in found.changes if each.candidate == each.point.operator]
        self._unclear(limits.unclear(own, limit), limit)
        nothing = [] if own else ["the reports have no measurement of the operator in common"]
        return self._judged([*nothing, *limits.regressed(found, limit)])

    def _unclear(self, count: int, limit: float) -> None:
        if count:
            said = f"ratios too uncertain to exclude that the operator is slower by {100 * limit:g}%: {count}"
            self.console.print(said, style="yellow", soft_wrap=True)

    def _judged(self, wrong: list[str]) -> int:
        for line in wrong:
            self.console.print(line, style="bold red", markup=False, highlight=False, soft_wrap=True)
        return 1 if wrong else 0

    @staticmethod
    def _write(path: Path | None, text: str) -> None:
        if path is None:
            return
        if path == TERMINAL:
            click.echo(text, nl=False)
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(path), error.strerror) from error
