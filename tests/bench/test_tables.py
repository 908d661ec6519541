"""Reports as text and as Markdown."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable

import pytest

from opwright.bench.results.measurement import (
    Interval,
    Key,
    Point,
    describe,
    format_bounds,
    format_ratio,
    format_seconds,
    format_share,
    split_facts,
)
from opwright.bench.results.report import Report
from opwright.bench.results.tables import TextTable

MakeReport = Callable[..., Report]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_a_row_for_each_candidate_and_point(make_report: MakeReport) -> None:
    report = make_report()
    lines = [cells(line) for line in report.to_markdown().splitlines() if line.startswith("|")]
    assert lines[0] == [
        *("phase", "N", "candidate", "time", "interval", "outliers", "GB/s", "of copy", "bound by", "ratio", "verdict")
    ]
    assert len(lines) == 2 + len(report.measurements)
    assert lines[3] == [
        *("forward", "1", "torch.exp(x)", "2.00 µs", "1.96-2.04", "1/40, to 2.00 µs"),
        *("0.00400", "25%", "memory", "2.00 (1.96-2.04)", "slower"),
    ]
    assert lines[2][-2:] == ["1", ""]


def test_what_all_points_share_is_said_once(make_report: MakeReport) -> None:
    text = str(make_report())
    assert text.splitlines()[0].strip() == "op, M=3, T=float32, cpu, 1 thread, warm cache"
    assert text.count("float32") == 1
    assert "forward" in text
    assert "move fewer bytes" in text
    assert "one note" in text
    assert "machine: cpu a [fast] processor" in text
    assert "99% interval" in text


def test_labels_are_not_repeated_on_the_terminal_alone(make_report: MakeReport) -> None:
    report = make_report(sizes=(7, 8))
    assert str(report).count("\n backward ") == 1
    assert report.to_markdown().count("\n| backward ") == 6


def test_each_operator_has_its_table(make_report: MakeReport) -> None:
    report = make_report(phases=("forward",))
    other = dataclasses.replace(report.measurements[0].point, operator="other", sizes={"K": 5})
    report.measurements.append(dataclasses.replace(report.measurements[0], point=other, candidate="other"))
    assert "other, forward, K=5" in str(report)


def test_advice_is_given_once_for_all_sizes_that_are_alike(make_report: MakeReport) -> None:
    report = make_report(factors={})
    first = report.measurements[0]
    assert first.roofline is not None
    changed = dataclasses.replace(first.roofline, bound_by="call overhead", advice="make fewer calls")
    report.measurements[0] = dataclasses.replace(first, roofline=changed)
    lines = str(report).splitlines()
    assert "forward, N=1: bound by call overhead; make fewer calls" in lines
    assert "forward, N=4 to N=64: bound by memory; at N=64 move fewer bytes" in lines
    assert "backward, N=1 to N=64: bound by memory; at N=64 move fewer bytes" in lines


def test_operations_have_a_rate_and_a_share_of_the_peak(make_report: MakeReport) -> None:
    report = make_report(phases=("forward",), factors={}, sizes=(1000,))
    first = report.measurements[0]
    assert first.roofline is not None
    roofline = dataclasses.replace(first.roofline, operations=1e6, peak=4e9, bound_by="arithmetic")
    report.measurements[0] = dataclasses.replace(first, roofline=roofline)
    line = report.to_markdown().splitlines()[4]
    assert cells(line)[6:9] == ["1.00", "25%", "arithmetic"]


def test_without_traffic_and_alternatives_those_columns_are_absent(make_report: MakeReport) -> None:
    report = make_report(phases=("forward",), factors={})
    report.measurements = [dataclasses.replace(each, roofline=None) for each in report.measurements]
    assert cells(report.to_markdown().splitlines()[2]) == ["N", "candidate", "time", "interval", "outliers"]


def test_a_report_of_nothing_says_so_in_its_notes() -> None:
    assert "nothing fits" in str(Report(notes=["nothing fits"]))


def test_what_markdown_takes_for_marks_is_escaped() -> None:
    layout = TextTable("a*b", ["<x|y"], [["f(x)[0] | __name__ `c` <b>"]])
    assert layout.markdown() == "a\\*b:\n\n| x\\|y |\n|:--|\n| f(x)\\[0] \\| \\_\\_name\\_\\_ \\`c\\` \\<b> |\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.5, "2.50 s"),
        (0.0123, "12.3 ms"),
        (4.56e-5, "45.6 µs"),
        (7.8e-8, "78.0 ns"),
        (1234.0, "1234 s"),
        (0.0, "0 ns"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_intervals_and_ratios() -> None:
    assert format_bounds(Interval(1e-3, 0.9e-3, 1.1e-3)) == "0.900-1.10"
    assert format_ratio(Interval(1.5, 1.25, 10.0)) == "1.50 (1.25-10.0)"
    open_ended = Interval(1.5, -math.inf, math.inf)
    assert format_bounds(open_ended) == "unknown"
    assert format_ratio(open_ended) == "1.50 (unknown)"
    assert format_share(1.0, 0.0) == ""


def test_points_in_words() -> None:
    first = Point("op", "both", {"B": 1, "phase": 2}, {"T": "float32"}, threads=2)
    other = dataclasses.replace(first, sizes={"B": 1, "phase": 3}, cache="cold")
    varying, shared = split_facts([first, other])
    assert varying == [Key("size", "phase"), Key("cache", "cache")]
    assert describe(shared) == "op, forward + backward, B=1, T=float32, cpu, 2 threads"
