"""Two reports against each other, and what counts as a regression."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable

import pytest

from opwright.bench.regression import (
    compare_reports,
    count_unclear,
    is_regression,
    parse_percentage,
    ratio_of_medians,
    ratios_to_alternatives,
    regressions_against_alternatives,
    regressions_since,
)
from opwright.bench.results.measurement import Interval
from opwright.bench.results.report import Report
from opwright.bench.results.tables import changes_markdown, changes_remarks

MakeReport = Callable[..., Report]


def test_points_are_matched_and_ratios_are_those_of_the_times(make_report: MakeReport) -> None:
    found = compare_reports(make_report(), make_report(scale=1.25))
    assert len(found.changes) == 2 * 4 * 3
    assert not found.gone
    assert not found.new
    for each in found.changes:
        assert each.ratio.median == pytest.approx(1.25)
        assert each.ratio.low <= 1.25 <= each.ratio.high
        assert each.verdict == "slower"


def test_a_report_against_itself_is_the_same(make_report: MakeReport) -> None:
    found = compare_reports(make_report(by=0.01), make_report(by=0.01))
    assert {each.verdict for each in found.changes} == {"same"}
    assert not found.warnings


def test_what_has_no_partner_is_listed(make_report: MakeReport) -> None:
    found = compare_reports(make_report(sizes=(1, 2), factors={}), make_report(sizes=(2, 4), factors={"new": 2.0}))
    assert {(each.candidate, each.point.sizes["N"]) for each in found.gone} == {("op", 1)}
    assert {(each.candidate, each.point.sizes["N"]) for each in found.new} == {("op", 4), ("new", 2), ("new", 4)}
    text = changes_markdown(found)
    assert "only before: op at op, forward, N=1, M=3, T=float32, cpu, 1 thread, warm cache" in text
    assert "only after: new at op, backward, N=4" in text


@pytest.mark.parametrize("point", [{"threads": 2}, {"device": "cuda"}, {"cache": "cold"}])
def test_other_conditions_are_other_points(make_report: MakeReport, point: dict[str, object]) -> None:
    found = compare_reports(make_report(), make_report(**point))
    assert not found.changes
    assert changes_remarks(found)[0] == "the reports have no point in common"


def test_other_machines_are_warned_of_but_not_other_loads(make_report: MakeReport) -> None:
    before, after = make_report(), make_report()
    after.machine = {"cpu": "another", "load": "7.5", "gpu": "one"}
    assert compare_reports(before, after).warnings == [
        "the machines differ: a ratio may be theirs, and not the code's",
        "cpu differs: a [fast] processor before, another after",
        "gpu differs: not told before, one after",
    ]


def test_alternatives_that_change_too_are_a_hint(make_report: MakeReport) -> None:
    (warning,) = compare_reports(make_report(), make_report(scale=2.0)).warnings
    assert warning.startswith(
        "alternatives take another time, too (torch.exp(x), compile:torch.exp(x): 16 of 16 points)"
    )


def test_a_point_that_is_there_twice_is_told(make_report: MakeReport) -> None:
    twice = make_report()
    twice.measurements += make_report(scale=2.0).measurements
    found = compare_reports(twice, make_report())
    assert "the first report has some points more than once: the last of each counts" in found.warnings
    assert found.changes[0].ratio.median == pytest.approx(0.5)


def test_errors_of_both_add_up_as_squares() -> None:
    before = Interval(2.0, 2.0 * math.exp(-0.03), 2.0 * math.exp(0.04))
    after = Interval(3.0, 3.0 * math.exp(-0.03), 3.0 * math.exp(0.04))
    found = ratio_of_medians(before, after)
    assert (found.median, found.low, found.high) == pytest.approx((1.5, 1.5 * math.exp(-0.05), 1.5 * math.exp(0.05)))


@pytest.mark.parametrize("unbounded", [Interval(2.0, 0.0, math.inf), Interval(2.0, -math.inf, math.inf)])
def test_what_is_unknown_of_one_is_unknown_of_the_ratio(unbounded: Interval) -> None:
    assert ratio_of_medians(unbounded, Interval(3.0, 3.0, 3.0)) == Interval(1.5, 0.0, math.inf)
    assert ratio_of_medians(Interval(1.0, 0.5, 2.0), Interval(0.0, 0.0, 0.0)).high == math.inf


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), (" 2.5 % ", 0.025), (".5%", 0.005), ("0%", 0.0)])
def test_percentages(text: str, value: float) -> None:
    assert parse_percentage(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["5", "", "%", "-5%", "five%", "1e3%", "5%%", "nan%"])
def test_what_is_no_percentage(text: str) -> None:
    with pytest.raises(ValueError, match="is no percentage; expected one such as 5%"):
        parse_percentage(text)


def test_slower_needs_the_median_and_the_interval() -> None:
    assert is_regression(Interval(1.08, 1.02, 1.2), 0.05)
    assert not is_regression(Interval(1.04, 1.03, 1.05), 0.05)
    assert not is_regression(Interval(1.08, 0.99, 1.2), 0.05)
    assert count_unclear([Interval(1.08, 0.99, 1.2), Interval(1.0, 0.99, 1.01), Interval(1.08, 1.02, 1.2)], 0.05) == 1


def test_regressions_against_alternatives(make_report: MakeReport) -> None:
    report = make_report(sizes=(1,), phases=("forward",))
    (line,) = regressions_against_alternatives(report, 0.05)
    assert line.startswith("op over compile:torch.exp(x): 2.00 (1.96-2.04), more than 1.05, at op, forward, N=1")
    assert not regressions_against_alternatives(report, 1.5)
    assert [ratio.median for ratio in ratios_to_alternatives(report)] == [0.5, 2.0]


def test_regressions_between_reports_are_the_operators_own(make_report: MakeReport) -> None:
    before, after = (
        make_report(sizes=(1,), phases=("forward",)),
        make_report(sizes=(1,), phases=("forward",), scale=1.1),
    )
    (line,) = regressions_since(compare_reports(before, after), 0.05)
    assert line.startswith("op, after over before: 1.10")
    assert not regressions_since(compare_reports(before, after), 0.2)
    own = after.measurements[0]
    faster = dataclasses.replace(own, time=Interval(own.time.median / 2, own.time.low / 2, own.time.high / 2))
    after.measurements[0] = faster
    assert not regressions_since(compare_reports(before, after), 0.05)


def test_what_is_unknown_is_null_in_json(make_report: MakeReport) -> None:
    after = make_report(sizes=(1,), phases=("forward",), factors={})
    after.measurements = [dataclasses.replace(each, time=Interval(1.0, 0.0, math.inf)) for each in after.measurements]
    (change,) = json.loads(compare_reports(make_report(), after).to_json())["changes"]
    assert change["ratio"]["high"] is None
    assert change["verdict"] == "too noisy"
