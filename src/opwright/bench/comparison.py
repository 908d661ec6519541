"""Two reports against each other: the same points, measured at two times, or on two machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opwright.bench.report import Interval, Measurement, Point, Report, Verdict

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


_Key = tuple[object, ...]


def compared(before: Report, after: Report) -> Compared:
    """Match points and candidates of two reports by all that makes them, and take the ratios of their times."""
    old, new = (_by_key(report) for report in (before, after))
    confidence = min(before.confidence, after.confidence)
    found = Compared(confidence=confidence, warnings=_machines(before.machine, after.machine))
    found.changes = [_change(old[key], each, confidence) for key, each in new.items() if key in old]
    found.gone = [Lone(each.point, each.candidate) for key, each in old.items() if key not in new]
    found.new = [Lone(each.point, each.candidate) for key, each in new.items() if key not in old]
    for name, report in (("first", before), ("second", after)):
        if len(_by_key(report)) < len(report.measurements):
            found.warnings.append(f"the {name} report has some points more than once: the last of each counts")
    found.warnings += _moved(found.changes)
    return found


def ratio_of(before: Sequence[float], after: Sequence[float], confidence: float = 0.99) -> Interval:
    """The ratio of the medians, `after` over `before`, of samples that are no pairs; its interval by the bootstrap.

    Args:
        before: seconds a call, in the order in which they were measured.
        after: likewise.
        confidence: how sure: 0.99.
    """
    import torch

    from opwright.bench.statistics import medians

    if not before or not after:
        return Interval(math.nan, -math.inf, math.inf)
    one, other = (torch.tensor(each, dtype=torch.float64).quantile(0.5) for each in (before, after))
    middle = float(other / one)
    if len(before) < 2 or len(after) < 2:
        return Interval(middle, -math.inf, math.inf)
    drawn_before, drawn_after = medians(before), medians(after)
    # Both are drawn with the same numbers: in another order they are independent of each other.
    order = torch.randperm(len(drawn_before), generator=torch.Generator().manual_seed(1))
    tail = (1 - confidence) / 2
    at = torch.tensor([tail, 1 - tail], dtype=torch.float64)
    low, high = (drawn_after / drawn_before[order]).quantile(at).tolist()
    return Interval(middle, min(low, middle), max(high, middle))


def _change(before: Measurement, after: Measurement, confidence: float) -> Change:
    from opwright.bench.statistics import verdict

    ratio = ratio_of(before.samples, after.samples, confidence)
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
