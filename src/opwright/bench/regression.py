"""Comparison of two reports, and the rule for regressions (``--fail-if-slower``)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from opwright.bench.results.measurement import Interval, Measurement, Point, Verdict, describe, facts, format_ratio
from opwright.bench.results.report import Report, finite
from opwright.bench.statistics import verdict

_VOLATILE = ("load", "frequency")
"""Facts of a machine that differ in every run."""


@dataclass(frozen=True)
class Change:
    """One candidate at one point, measured in both reports.

    Attributes:
        point: the point.
        candidate: the candidate's name.
        before, after: seconds per call.
        ratio: `after` over `before`: above 1, it has become slower. The rounds of two runs aren't paired, so drift
            between the runs affects this ratio, but not the width of its interval.
        verdict: the verdict on `after`.
    """

    point: Point
    candidate: str
    before: Interval
    after: Interval
    ratio: Interval
    verdict: Verdict


class Unmatched(NamedTuple):
    """A measurement that only one of the reports has."""

    point: Point
    candidate: str


@dataclass
class ReportComparison:
    """The comparison of two reports.

    Attributes:
        changes: measurements in both reports, in the order of the second.
        gone, new: measurements only in the first report, and only in the second.
        warnings: differences that make the reports less comparable, for people.
        confidence: confidence level of the intervals: the lower of the two reports'.
    """

    changes: list[Change] = field(default_factory=list)
    gone: list[Unmatched] = field(default_factory=list)
    new: list[Unmatched] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.99

    def to_json(self) -> str:
        """Return everything as JSON; infinite numbers become null."""
        return json.dumps(finite(asdict(self)), indent=2, allow_nan=False) + "\n"


_Key = tuple[object, ...]


def compare_reports(before: Report, after: Report) -> ReportComparison:
    """Match the candidates and points of two reports by all of their facts, and compute the ratios of their times."""
    old, new = (_by_key(report) for report in (before, after))
    comparison = ReportComparison(
        confidence=min(before.confidence, after.confidence), warnings=_machine_warnings(before.machine, after.machine)
    )
    comparison.changes = [_change(old[key], each) for key, each in new.items() if key in old]
    comparison.gone = [Unmatched(each.point, each.candidate) for key, each in old.items() if key not in new]
    comparison.new = [Unmatched(each.point, each.candidate) for key, each in new.items() if key not in old]
    for name, report in (("first", before), ("second", after)):
        if len(_by_key(report)) < len(report.measurements):
            comparison.warnings.append(f"the {name} report has some points more than once: the last of each counts")
        if report.stopped:
            comparison.warnings.append(f"the {name} report isn't whole: {report.stopped}")
    comparison.warnings += _alternatives_warning(comparison.changes)
    return comparison


def ratio_of_medians(before: Interval, after: Interval) -> Interval:
    """Return the ratio of two medians that were measured separately, with an interval of the same confidence as theirs.

    The squared errors of the logarithms add up, separately on each side: MOVER (Zou and Donner, "Construction of
    confidence limits about effect measures", Statistics in Medicine 27, 2008).

    Args:
        before: seconds per call.
        after: seconds per call.
    """
    if not (before.median > 0 and after.median > 0):
        return Interval(math.nan, 0.0, math.inf)
    ratio = after.median / before.median
    less = math.hypot(_log_distance(after.low, after.median), _log_distance(before.median, before.high))
    more = math.hypot(_log_distance(after.median, after.high), _log_distance(before.low, before.median))
    return Interval(ratio, ratio * math.exp(-less), ratio * math.exp(more))


def _log_distance(low: float, high: float) -> float:
    """Return the distance of two bounds on a logarithmic scale."""
    return math.log(high / low) if low > 0 else math.inf


def _change(before: Measurement, after: Measurement) -> Change:
    ratio = ratio_of_medians(before.time, after.time)
    return Change(after.point, after.candidate, before.time, after.time, ratio, verdict(ratio))


def _by_key(report: Report) -> dict[_Key, Measurement]:
    return {_key(each): each for each in report.measurements}


def _key(measurement: Measurement) -> _Key:
    point = measurement.point
    sizes, dtypes = (tuple(sorted(each.items())) for each in (point.sizes, point.dtypes))
    return measurement.candidate, point.operator, point.phase, sizes, dtypes, point.device, point.threads, point.cache


def _machine_warnings(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return warnings about facts that differ between the machines."""
    lines = [
        f"{key} differs: {before.get(key, 'not told')} before, {after.get(key, 'not told')} after"
        for key in dict.fromkeys((*before, *after))
        if not key.startswith(_VOLATILE) and before.get(key) != after.get(key)
    ]
    return ["the machines differ: a ratio may be theirs, and not the code's", *lines] if lines else []


def _alternatives_warning(changes: Sequence[Change]) -> list[str]:
    """Warn if alternatives changed: their code is usually the same, so the machine may have changed."""
    others = [each for each in changes if each.candidate != each.point.operator]
    moved = [each for each in others if each.verdict in ("faster", "slower")]
    if not moved:
        return []
    names = ", ".join(dict.fromkeys(each.candidate for each in moved))
    points = f"{len(moved)} of {len(others)} points"
    hint = "if their code is the same as before, the machine isn't"
    return [f"alternatives take another time, too ({names}: {points}): {hint}"]


def parse_percentage(text: str) -> float:
    """Parse ``5%`` as 0.05.

    Raises:
        ValueError: the text isn't a percentage.
    """
    if not re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+)\s*%\s*", text):
        raise ValueError(f"{text!r} is no percentage; expected one such as 5% or 2.5%")
    return float(text.strip().rstrip("%")) / 100


def is_regression(ratio: Interval, limit: float) -> bool:
    """Return whether a time ratio counts as a regression.

    It does if the median is slower by more than `limit`, and the whole interval is slower.
    """
    return ratio.median > 1 + limit and ratio.low > 1


def regressions_against_alternatives(report: Report, limit: float) -> list[str]:
    """Return one line for each point at which the operator is slower than an alternative by more than `limit`."""
    pairs = zip(report.comparisons, ratios_to_alternatives(report), strict=True)
    return _lines(((each.point, f"{each.point.operator} over {each.candidate}", ratio) for each, ratio in pairs), limit)


def regressions_since(comparison: ReportComparison, limit: float) -> list[str]:
    """Return one line for each point at which the operator became slower by more than `limit`, without alternatives."""
    own = (each for each in comparison.changes if each.candidate == each.point.operator)
    return _lines(((each.point, f"{each.candidate}, after over before", each.ratio) for each in own), limit)


def count_unclear(ratios: Iterable[Interval], limit: float) -> int:
    """Count the ratios whose interval is so wide that they may be regressions of more than `limit`."""
    return sum(not is_regression(each, limit) and each.high > 1 + limit for each in ratios)


def ratios_to_alternatives(report: Report) -> list[Interval]:
    """Return the ratios of the operator's time to each alternative's."""
    return [_inverse(each.ratio) for each in report.comparisons]


def _lines(rows: Iterable[tuple[Point, str, Interval]], limit: float) -> list[str]:
    return [
        f"{what}: {format_ratio(ratio)}, more than {1 + limit:g}, at {describe(facts(point))}"
        for point, what, ratio in rows
        if is_regression(ratio, limit)
    ]


def _inverse(ratio: Interval) -> Interval:
    """Return the interval of the inverse ratio; infinite where the ratio is 0."""
    low, median, high = (1 / value if value > 0 else math.inf for value in (ratio.high, ratio.median, ratio.low))
    return Interval(median, low, high)
