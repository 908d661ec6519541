"""Two reports against each other: the same points, measured at two times, or on two machines."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from opwright.bench.report import Interval, Measurement, Point, Report, Verdict, finite

_VOLATILE = ("load", "frequency")
"""Facts of a machine that are others at every run."""


@dataclass(frozen=True)
class Change:
    """One candidate at one point, measured in both reports.

    Attributes:
        point: where.
        candidate: its name.
        before, after: seconds a call.
        ratio: `after` over `before`: above 1, it has become slower. The rounds of two runs are no pairs, so what
            drifted between the runs is within this ratio, and not within its interval.
        verdict: of `after`.
    """

    point: Point
    candidate: str
    before: Interval
    after: Interval
    ratio: Interval
    verdict: Verdict


class Lone(NamedTuple):
    """What only one of the reports has."""

    point: Point
    candidate: str


@dataclass
class Compared:
    """Two reports side by side.

    Attributes:
        changes: what both have, in the order of the second report.
        gone, new: what only the first one has, and only the second.
        warnings: what makes the two less comparable, for people.
        confidence: of the intervals: the lower one of the reports' own.
    """

    changes: list[Change] = field(default_factory=list)
    gone: list[Lone] = field(default_factory=list)
    new: list[Lone] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.99

    def to_json(self) -> str:
        """Everything, as JSON; null stands for what is infinite."""
        return json.dumps(finite(asdict(self)), indent=2, allow_nan=False) + "\n"


_Key = tuple[object, ...]


def compared(before: Report, after: Report) -> Compared:
    """Match points and candidates of two reports by all that makes them, and take the ratios of their times."""
    old, new = (_by_key(report) for report in (before, after))
    found = Compared(
        confidence=min(before.confidence, after.confidence), warnings=_machines(before.machine, after.machine)
    )
    found.changes = [_change(old[key], each) for key, each in new.items() if key in old]
    found.gone = [Lone(each.point, each.candidate) for key, each in old.items() if key not in new]
    found.new = [Lone(each.point, each.candidate) for key, each in new.items() if key not in old]
    for name, report in (("first", before), ("second", after)):
        if len(_by_key(report)) < len(report.measurements):
            found.warnings.append(f"the {name} report has some points more than once: the last of each counts")
        if report.stopped:
            found.warnings.append(f"the {name} report isn't whole: {report.stopped}")
    found.warnings += _moved(found.changes)
    return found


def ratio_of(before: Interval, after: Interval) -> Interval:
    """The ratio of two medians that were measured apart, and its interval, of the same confidence as theirs.

    Errors of logarithms add up as squares, on each side for itself: MOVER (Zou and Donner, "Construction of confidence
    limits about effect measures", Statistics in Medicine 27, 2008).

    Args:
        before: seconds a call.
        after: likewise.
    """
    if not (before.median > 0 and after.median > 0):
        return Interval(math.nan, 0.0, math.inf)
    ratio = after.median / before.median
    less = math.hypot(_far(after.low, after.median), _far(before.median, before.high))
    more = math.hypot(_far(after.median, after.high), _far(before.low, before.median))
    return Interval(ratio, ratio * math.exp(-less), ratio * math.exp(more))


def _far(low: float, high: float) -> float:
    """How far apart two bounds are on a logarithmic scale."""
    return math.log(high / low) if low > 0 else math.inf


def _change(before: Measurement, after: Measurement) -> Change:
    from opwright.bench.statistics import verdict

    ratio = ratio_of(before.time, after.time)
    return Change(after.point, after.candidate, before.time, after.time, ratio, verdict(ratio))


def _by_key(report: Report) -> dict[_Key, Measurement]:
    return {_key(each): each for each in report.measurements}


def _key(measurement: Measurement) -> _Key:
    point = measurement.point
    sizes, dtypes = (tuple(sorted(each.items())) for each in (point.sizes, point.dtypes))
    return measurement.candidate, point.operator, point.phase, sizes, dtypes, point.device, point.threads, point.cache


def _machines(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Facts of the machines that differ."""
    lines = [
        f"{key} differs: {before.get(key, 'not told')} before, {after.get(key, 'not told')} after"
        for key in dict.fromkeys((*before, *after))
        if not key.startswith(_VOLATILE) and before.get(key) != after.get(key)
    ]
    return ["the machines differ: a ratio may be theirs, and not the code's", *lines] if lines else []


def _moved(changes: Sequence[Change]) -> list[str]:
    """Alternatives that changed are a hint that the machine did: their code mostly is the same."""
    others = [each for each in changes if each.candidate != each.point.operator]
    moved = [each for each in others if each.verdict in ("faster", "slower")]
    if not moved:
        return []
    names = ", ".join(dict.fromkeys(each.candidate for each in moved))
    said = (
        f"alternatives take another time, too ({names}: {len(moved)} of {len(others)} points): if their code is the "
        "same as before, the machine isn't"
    )
    return [said]
