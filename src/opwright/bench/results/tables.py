"""Tables of reports and their comparisons, on the terminal and in Markdown."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opwright.bench.results.measurement import (
    Comparison,
    Key,
    Measurement,
    describe,
    facts,
    format_bounds,
    format_giga,
    format_ratio,
    format_seconds,
    format_share,
    split_facts,
)

if TYPE_CHECKING:
    from opwright.bench.regression import ReportComparison
    from opwright.bench.results.report import Report

_STYLES = {"faster": "green", "slower": "bold red", "too noisy": "yellow"}


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Attributes:
        title: the facts that all rows share.
        columns: their names; columns that begin with ``<`` are left-aligned, the others, numbers, right-aligned.
        rows: one text for each column.
        labels: number of leading columns that describe the point of a measurement.
        below: lines under the table.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int = 0
    below: list[str] = field(default_factory=list)

    def without_empty_columns(self) -> TextTable:
        """Return the table without columns that are empty in all rows."""
        kept = [index for index in range(len(self.columns)) if any(row[index] for row in self.rows)]
        rows = [[row[index] for index in kept] for row in self.rows]
        labels = sum(index < self.labels for index in kept)
        return TextTable(self.title, [self.columns[index] for index in kept], rows, labels, self.below)

    def show(self, console: Console) -> None:
        """Print the table; labels that are the same as in the row above are left out."""
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
        """Return the table in GitHub's Markdown."""
        heads = [_escape_markdown(column.lstrip("<")) for column in self.columns]
        rules = [":--" if column.startswith("<") else "--:" for column in self.columns]
        lines = ["|".join(["", *(f" {text} " for text in heads), ""]), "|".join(["", *rules, ""])]
        lines += ["|".join(["", *(f" {_escape_markdown(text)} " for text in row), ""]) for row in self.rows]
        below = [f"- {_escape_markdown(line)}" for line in self.below]
        return "\n".join([f"{_escape_markdown(self.title)}:", "", *lines, *([""] if below else []), *below]) + "\n"


def _styled(text: str) -> str:
    return f"[{_STYLES[text]}]{text}[/]" if text in _STYLES else escape(text)


def _escape_markdown(text: str) -> str:
    """Escape text for Markdown: the names of candidates are code, with asterisks and underscores."""
    for mark in ("\\", "`", "*", "_", "|", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


WIDTH = 150
"""Columns if the terminal's width is unknown."""

_ROOFLINE = ("GB/s", "of copy", "GFLOP/s", "of peak", "<bound by")


def show_report(report: Report, console: Console) -> None:
    """Print the report."""
    for layout in report_tables(report):
        layout.show(console)
    for line in report_remarks(report):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def report_text(report: Report) -> str:
    """Return the report as text without colours."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_terminal=False)
    show_report(report, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO
    return text


def report_markdown(report: Report) -> str:
    """Return the report as Markdown: tables, and the remarks as a list."""
    tables = [layout.markdown() for layout in report_tables(report)]
    return "\n".join([*tables, *(f"- {line}" for line in report_remarks(report))]) + "\n"


def report_tables(report: Report) -> list[TextTable]:
    """Return a table for each operator, because operators have different axes."""
    operators = dict.fromkeys(each.point.operator for each in report.measurements)
    return [_report_table(report, operator) for operator in operators]


def report_remarks(report: Report) -> list[str]:
    """Return remarks on the whole report: confidence, notes, the machine."""
    legend = (
        f"times: median of the rounds, and its {100 * report.confidence:g}% interval; ratio: to the operator's time, "
        "paired round by round; outliers are included"
    )
    lines = [*filter(None, (report.stopped,)), legend, *_unbounded(report), *report.crashes, *report.notes]
    if report.machine:
        lines.append("machine: " + ", ".join(f"{key} {value}" for key, value in report.machine.items()))
    return lines


def _unbounded(report: Report) -> list[str]:
    """Return advice on intervals without bounds, if there are any."""
    intervals = [*(each.time for each in report.measurements), *(each.ratio for each in report.comparisons)]
    if all(math.isfinite(interval.high) for interval in intervals):
        return []
    text = f"unknown: too few rounds for an interval of {100 * report.confidence:g}%, more so where rounds that follow "
    return [f"{text}each other are alike: ask for more --rounds, or leave them out"]


def _report_table(report: Report, operator: str) -> TextTable:
    measurements = [each for each in report.measurements if each.point.operator == operator]
    comparisons = [each for each in report.comparisons if each.point.operator == operator]
    varying, shared = split_facts(each.point for each in measurements)
    last = ("ratio", "<verdict") if comparisons else ()
    columns = [*_label_columns(varying), "<candidate", "time", "interval", "outliers", *_ROOFLINE, *last]
    rows = []
    for each in sorted(measurements, key=_row_order(measurements, varying)):
        texts = facts(each.point)
        row = [*(texts.get(key, "") for key in varying), each.candidate, format_seconds(each.time.median)]
        row += [format_bounds(each.time), _outliers(each), *_roofline(each)]
        rows.append(row + (_ratio(each, comparisons) if comparisons else []))
    return TextTable(describe(shared), columns, rows, len(varying), _advice(measurements)).without_empty_columns()


def _label_columns(varying: Sequence[Key]) -> list[str]:
    return [f"<{key.name}" if key.kind != "size" else key.name for key in varying]


def _row_order(
    measurements: Sequence[Measurement], varying: Sequence[Key]
) -> Callable[[Measurement], tuple[float, ...]]:
    """Return a sorting key: sizes ascend; everything else, including candidates, keeps the measurements' order."""
    texts = {id(each): facts(each.point) for each in measurements}
    order = {key: list(dict.fromkeys(each.get(key, "") for each in texts.values())) for key in varying}

    def place(measurement: Measurement) -> tuple[float, ...]:
        own, sizes = texts[id(measurement)], measurement.point.sizes
        return tuple(
            float(sizes.get(key.name, -1)) if key.kind == "size" else order[key].index(own.get(key, ""))
            for key in varying
        )

    return place


def _outliers(measurement: Measurement) -> str:
    """Format the number of outliers, of samples, and the farthest outlier: ``3/60, to 1.2 ms``."""
    if not measurement.outliers:
        return f"0/{len(measurement.samples)}"
    median = measurement.time.median
    farthest = max(measurement.samples, key=lambda seconds: abs(seconds - median))
    return f"{measurement.outliers}/{len(measurement.samples)}, to {format_seconds(farthest)}"


def _roofline(measurement: Measurement) -> list[str]:
    roofline = measurement.roofline
    if roofline is None:
        return [""] * len(_ROOFLINE)
    cells = [format_giga(roofline.bandwidth), format_share(roofline.bandwidth, roofline.copy_bandwidth)]
    if roofline.operations is None:
        return [*cells, "", "", roofline.bound_by]
    rate = roofline.operations / measurement.time.median
    return [*cells, format_giga(rate), format_share(rate, roofline.peak or 0), roofline.bound_by]


def _ratio(measurement: Measurement, comparisons: Sequence[Comparison]) -> list[str]:
    for each in comparisons:
        if each.point == measurement.point and each.candidate == measurement.candidate:
            return [format_ratio(each.ratio), each.verdict]
    return ["1", ""]


def _advice(measurements: Sequence[Measurement]) -> list[str]:
    """Return the operator's limits and the term to improve: a line for all sizes that have the same limit."""
    varying, _ = split_facts(each.point for each in measurements)
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for each in measurements:
        if each.roofline is not None and each.candidate == each.point.operator:
            texts = facts(each.point)
            sizes, others = (
                describe({key: texts.get(key, "") for key in varying if (key.kind == "size") is is_size})
                for is_size in (True, False)
            )
            groups.setdefault((others, each.roofline.bound_by), []).append((sizes, each.roofline.advice))
    return [_advice_line(others, bound_by, advice) for (others, bound_by), advice in groups.items()]


def _advice_line(others: str, bound_by: str, advice: Sequence[tuple[str, str]]) -> str:
    """Format the advice for a range of sizes; its details are the last size's: ``forward, B=64 to B=1024: ...``."""
    sizes = list(dict.fromkeys(size for size, _ in advice if size))
    span = " to ".join(dict.fromkeys((sizes[0], sizes[-1]))) if sizes else ""
    prefix = ", ".join(filter(None, (others, span)))
    at = f" at {sizes[-1]}" if len(sizes) > 1 else ""
    limit = "neither bytes nor calls bound it" if bound_by == "neither" else f"bound by {bound_by}"
    return f"{prefix}: {limit};{at} {advice[-1][1]}".removeprefix(": ")


def show_changes(comparison: ReportComparison, console: Console) -> None:
    """Print the changes between two reports."""
    for line in comparison.warnings:
        console.print(f"warning: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if comparison.changes:
        changes_table(comparison).show(console)
    for line in changes_remarks(comparison):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def changes_markdown(comparison: ReportComparison) -> str:
    """Return the changes as Markdown."""
    lines = [*(f"warning: {warning}" for warning in comparison.warnings), *changes_remarks(comparison)]
    table = [changes_table(comparison).markdown()] if comparison.changes else []
    return "\n".join([*table, *(f"- {line}" for line in lines)]) + "\n"


def changes_table(comparison: ReportComparison) -> TextTable:
    """Return a table with a row for each change."""
    varying, shared = split_facts(each.point for each in comparison.changes)
    columns = [*_label_columns(varying), "<candidate", "before", "after", "after / before", "<verdict"]
    rows = []
    for each in comparison.changes:
        texts = facts(each.point)
        cells = [*map(format_seconds, (each.before.median, each.after.median)), format_ratio(each.ratio), each.verdict]
        rows.append([*(texts.get(key, "") for key in varying), each.candidate, *cells])
    return TextTable(describe(shared), columns, rows, len(varying))


def changes_remarks(comparison: ReportComparison) -> list[str]:
    """Return the measurements that only one report has, and a legend for the ratios."""
    sides = (("only before", comparison.gone), ("only after", comparison.new))
    lines = [f"{side}: {each.candidate} at {describe(facts(each.point))}" for side, lone in sides for each in lone]
    if not comparison.changes:
        return ["the reports have no point in common", *lines]
    legend = (
        f"ratios of the medians, with their {100 * comparison.confidence:g}% intervals; what drifted between the two "
        "runs is in the ratio and not in the interval (--against HEAD~1 measures both in one run)"
    )
    return [legend, *lines]
