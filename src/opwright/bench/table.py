"""A report for people: a row for each candidate at each point, then what limits the operator, and on what machine."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

from rich.console import Console

from opwright.bench import units
from opwright.bench.layout import Layout
from opwright.bench.points import Key, facts, parted, worded
from opwright.bench.report import Comparison, Measurement, Report

WIDTH = 150
"""Columns where nobody says how wide the terminal is."""

_ROOFLINE = ("GB/s", "of copy", "GFLOP/s", "of peak", "<bound by")


def show(report: Report, console: Console) -> None:
    """Print the report."""
    for layout in layouts(report):
        layout.show(console)
    for line in about(report):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def plain(report: Report) -> str:
    """The report as text without colours."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_terminal=False)
    show(report, console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO
    return text


def markdown(report: Report) -> str:
    """The report as Markdown: tables, and what is to be known of them as a list."""
    tables = [layout.markdown() for layout in layouts(report)]
    return "\n".join([*tables, *(f"- {line}" for line in about(report))]) + "\n"


def layouts(report: Report) -> list[Layout]:
    """A table for each operator: their axes are their own."""
    operators = dict.fromkeys(each.point.operator for each in report.measurements)
    return [_layout(report, operator) for operator in operators]


def about(report: Report) -> list[str]:
    """What holds for the whole report: how sure it is, notes, the machine."""
    how = (
        f"times: median of the rounds, and its {100 * report.confidence:g}% interval; ratio: to the operator's time, "
        "paired round by round; outliers are included"
    )
    lines = [*filter(None, (report.stopped,)), how, *_unknown(report), *report.crashes, *report.notes]
    if report.machine:
        lines.append("machine: " + ", ".join(f"{key} {value}" for key, value in report.machine.items()))
    return lines


def _unknown(report: Report) -> list[str]:
    """What mends intervals that nothing bounds."""
    found = [*(each.time for each in report.measurements), *(each.ratio for each in report.comparisons)]
    if all(math.isfinite(each.high) for each in found):
        return []
    said = (
        f"unknown: too few rounds for an interval of {100 * report.confidence:g}%, more so where rounds that follow "
        "each other are alike: ask for more --rounds, or leave them out"
    )
    return [said]


def _layout(report: Report, operator: str) -> Layout:
    measured = [each for each in report.measurements if each.point.operator == operator]
    varying, shared = parted(each.point for each in measured)
    against = [each for each in report.comparisons if each.point.operator == operator]
    last = ("ratio", "<verdict") if against else ()
    columns = [f"<{key.name}" if key.kind != "size" else key.name for key in varying]
    columns += ["<candidate", "time", "interval", "outliers", *_ROOFLINE, *last]
    rows = []
    for each in sorted(measured, key=_place(measured, varying)):
        told = facts(each.point)
        row = [told.get(key, "") for key in varying] + _cells(each)
        rows.append(row + (_compared(each, against) if against else []))
    return Layout(worded(shared), columns, rows, len(varying), _advice(measured)).without_empty_columns()


def _place(measured: list[Measurement], varying: list[Key]) -> Callable[[Measurement], tuple[float, ...]]:
    """Where a row belongs: sizes grow, everything else, candidates too, stays in the order in which it was measured."""
    told = {id(each): facts(each.point) for each in measured}
    order = {key: list(dict.fromkeys(each.get(key, "") for each in told.values())) for key in varying}

    def of(measurement: Measurement) -> tuple[float, ...]:
        mine = told[id(measurement)]
        return tuple(
            measurement.point.sizes.get(key.name, -1) if key.kind == "size" else order[key].index(mine.get(key, ""))
            for key in varying
        )

    return of


def _cells(measurement: Measurement) -> list[str]:
    time = measurement.time
    return [
        measurement.candidate,
        units.time(time.median),
        units.times(time),
        _outliers(measurement),
        *_roofline(measurement),
    ]


def _outliers(measurement: Measurement) -> str:
    """How many, of how many, and how far they go: ``3/60, to 1.2 ms``."""
    if not measurement.outliers:
        return f"0/{len(measurement.samples)}"
    median = measurement.time.median
    farthest = max(measurement.samples, key=lambda took: abs(took - median))
    return f"{measurement.outliers}/{len(measurement.samples)}, to {units.time(farthest)}"


def _roofline(measurement: Measurement) -> list[str]:
    found = measurement.roofline
    if found is None:
        return [""] * len(_ROOFLINE)
    cells = [units.giga(found.bandwidth), units.share(found.bandwidth, found.copy_bandwidth)]
    if found.operations is None:
        return [*cells, "", "", found.bound_by]
    rate = found.operations / measurement.time.median
    return [*cells, units.giga(rate), units.share(rate, found.peak or 0), found.bound_by]


def _compared(measurement: Measurement, comparisons: list[Comparison]) -> list[str]:
    for each in comparisons:
        if each.point == measurement.point and each.candidate == measurement.candidate:
            return [units.ratio(each.ratio), each.verdict]
    return ["1", ""]


def _advice(measured: list[Measurement]) -> list[str]:
    """What limits the operator itself, and which term to work on: a line for all sizes at which it is the same."""
    varying, _ = parted(each.point for each in measured)
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for each in measured:
        if each.roofline is not None and each.candidate == each.point.operator:
            told = facts(each.point)
            size, other = (
                worded({k: told.get(k, "") for k in varying if (k.kind == "size") is of}) for of in (True, False)
            )
            groups.setdefault((other, each.roofline.bound_by), []).append((size, each.roofline.advice))
    return [_advised(other, bound_by, found) for (other, bound_by), found in groups.items()]


def _advised(other: str, bound_by: str, found: list[tuple[str, str]]) -> str:
    """``forward, B=64 to B=1024: memory; at B=1024 it moves its bytes at 93 %...``: the last size stands for all."""
    sizes = list(dict.fromkeys(size for size, _ in found if size))
    where = ", ".join(filter(None, (other, " to ".join(dict.fromkeys((sizes[0], sizes[-1]))) if sizes else "")))
    at = f" at {sizes[-1]}" if len(sizes) > 1 else ""
    what = "neither bytes nor calls bound it" if bound_by == "neither" else f"bound by {bound_by}"
    return f"{where}: {what};{at} {found[-1][1]}".removeprefix(": ")
