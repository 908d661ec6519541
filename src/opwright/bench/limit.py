"""``--fail-if-slower 5%``: when a difference counts as a regression."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opwright.bench import units
from opwright.bench.comparison import Compared
from opwright.bench.points import facts, worded
from opwright.bench.report import Interval, Point, Report


def percentage(text: str) -> float:
    """``5%`` as 0.05.

    Raises:
        ValueError: it is no percentage.
    """
    if not re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+)\s*%\s*", text):
        raise ValueError(f"{text!r} is no percentage; expected one such as 5% or 2.5%")
    return float(text.strip().rstrip("%")) / 100


def slower(ratio: Interval, limit: float) -> bool:
    """Whether something that takes `ratio` times as long as it should counts as a regression.

    It does if the median says that it is slower by more than `limit`, and the interval that it is slower at all.
    """
    return ratio.median > 1 + limit and ratio.low > 1


def regressions(report: Report, limit: float) -> list[str]:
    """Where the operator is slower than an alternative by more than `limit`; a line each."""
    turned = ((each.point, each.candidate, _inverse(each.ratio)) for each in report.comparisons)
    return _lines(((point, f"{point.operator} over {other}", ratio) for point, other, ratio in turned), limit)


def regressed(found: Compared, limit: float) -> list[str]:
    """Where the operator takes longer than in the report before by more than `limit`; alternatives don't count."""
    own = (each for each in found.changes if each.candidate == each.point.operator)
    return _lines(((each.point, f"{each.candidate}, after over before", each.ratio) for each in own), limit)


def unclear(ratios: Iterable[Interval], limit: float) -> int:
    """How many ratios are so uncertain that a regression of `limit` may hide in them."""
    return sum(not slower(each, limit) and each.high > 1 + limit for each in ratios)


def judged(report: Report) -> list[Interval]:
    """The operator's time over each alternative's."""
    return [_inverse(each.ratio) for each in report.comparisons]


def _lines(given: Iterable[tuple[Point, str, Interval]], limit: float) -> list[str]:
    return [
        f"{what}: {units.ratio(ratio)}, more than {1 + limit:g}, at {worded(facts(point))}"
        for point, what, ratio in given
        if slower(ratio, limit)
    ]


def _inverse(ratio: Interval) -> Interval:
    """The ratio the other way round."""

    def turned(value: float) -> float:
        return 1 / value if value > 0 else float("inf")

    return Interval(turned(ratio.median), turned(ratio.high), turned(ratio.low))
