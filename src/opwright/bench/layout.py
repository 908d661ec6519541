"""A table before anybody knows whether it goes to a terminal or into a Markdown file."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_STYLES = {"faster": "green", "slower": "bold red", "too noisy": "yellow"}


@dataclass(frozen=True)
class Layout:
    """Text in columns.

    Attributes:
        title: what all rows share.
        columns: their names; those that begin with ``<`` are set to the left, the others, numbers, to the right.
        rows: as many texts each.
        labels: how many of the first columns say where something was measured.
        below: lines under the table.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int = 0
    below: list[str] = field(default_factory=list)

    def without_empty_columns(self) -> Layout:
        """The same, short of columns in which no row says anything."""
        kept = [index for index in range(len(self.columns)) if any(row[index] for row in self.rows)]
        rows = [[row[index] for index in kept] for row in self.rows]
        labels = sum(index < self.labels for index in kept)
        return Layout(self.title, [self.columns[index] for index in kept], rows, labels, self.below)

    def show(self, console: Console) -> None:
        """Print it; a label that is that of the row above isn't repeated."""
        console.print(self.title, style="bold", markup=False, highlight=False, soft_wrap=True)
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for column in self.columns:
            name = escape(column.lstrip("<"))
            table.add_column(name, justify="left" if column.startswith("<") else "right", overflow="fold")
        above: list[str] = []
        for row in self.rows:
            same = next((i for i, (a, b) in enumerate(zip(row, above, strict=False)) if a != b), 0)
            texts = ["" if index < min(same, self.labels) else _styled(text) for index, text in enumerate(row)]
            table.add_row(*texts)
            above = row
        console.print(table)
        for line in self.below:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    def markdown(self) -> str:
        """The same in GitHub's Markdown."""
        heads = [_plain(column.lstrip("<")) for column in self.columns]
        rules = [":--" if column.startswith("<") else "--:" for column in self.columns]
        lines = ["|".join(["", *(f" {text} " for text in heads), ""]), "|".join(["", *rules, ""])]
        lines += ["|".join(["", *(f" {_plain(text)} " for text in row), ""]) for row in self.rows]
        below = [f"- {_plain(line)}" for line in self.below]
        return "\n".join([f"{_plain(self.title)}:", "", *lines, *([""] if below else []), *below]) + "\n"


def _styled(text: str) -> str:
    return f"[{_STYLES[text]}]{text}[/]" if text in _STYLES else escape(text)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: the names of candidates are code, with stars and underscores."""
    for mark in ("\\", "`", "*", "_", "|", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
