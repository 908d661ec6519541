"""What a picture shows, before it is drawn: a panel for each operator, phase and whatever else isn't swept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from opwright.bench.points import Key, facts, parted, worded
from opwright.bench.report import Interval, Measurement, Report

_FACTOR = 16
"""Sizes that lie farther apart than that don't fit on a linear axis."""


@dataclass(frozen=True)
class Spot:
    """One measurement: where along the swept axis, seconds, and bytes a second where the traffic is known."""

    size: float
    time: Interval
    bandwidth: Interval | None
    copy: float | None


@dataclass(frozen=True)
class Panel:
    """Curves that belong together.

    Attributes:
        title: what tells it from the other panels.
        axis: the name of the swept axis; empty where nothing is swept.
        curves: of each candidate, in the order of the sizes.
    """

    title: str
    axis: str
    curves: dict[str, list[Spot]]

    @property
    def sizes(self) -> list[float]:
        """Those that were measured."""
        return sorted({spot.size for curve in self.curves.values() for spot in curve})

    @property
    def copies(self) -> list[tuple[float, float]]:
        """What a copy of as many bytes reaches, by size."""
        found = {spot.size: spot.copy for curve in self.curves.values() for spot in curve if spot.copy is not None}
        return sorted(found.items())


def panels(report: Report) -> tuple[str, list[Panel]]:
    """What all panels share, in words; and the panels.

    Raises:
        ValueError: nothing was measured.
    """
    if not report.measurements:
        raise ValueError("nothing was measured, so there is nothing to draw")
    varying, shared = parted(each.point for each in report.measurements)
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    swept = {op: _swept(report, op) for op in dict.fromkeys(each.point.operator for each in report.measurements)}
    for each in report.measurements:
        told = facts(each.point)
        axis = swept[each.point.operator]
        rest = tuple(text for key, text in told.items() if key != axis)
        groups.setdefault(rest, []).append(each)
    return worded(shared), [_panel(group, varying, swept[group[0].point.operator]) for group in groups.values()]


def _swept(report: Report, operator: str) -> Key | None:
    """The axis with the most sizes."""
    points = [each.point for each in report.measurements if each.point.operator == operator]
    counts = {name: len({point.sizes.get(name) for point in points}) for name in points[0].sizes}
    name = max(counts, key=lambda each: counts[each], default=None)
    return Key("size", name) if name is not None and counts[name] > 1 else None


def _panel(group: Sequence[Measurement], varying: Sequence[Key], swept: Key | None) -> Panel:
    told = facts(group[0].point)
    title = worded({key: told.get(key, "") for key in varying if key != swept})
    curves: dict[str, list[Spot]] = {}
    for each in sorted(group, key=lambda one: one.point.sizes[swept.name] if swept else 0):
        size = each.point.sizes[swept.name] if swept else 0
        roofline = each.roofline
        rate = None if roofline is None else _rate(roofline.bytes, each.time)
        spot = Spot(size, each.time, rate, None if roofline is None else roofline.copy_bandwidth)
        curves.setdefault(each.candidate, []).append(spot)
    return Panel(title, swept.name if swept else "", curves)


def _rate(amount: float, time: Interval) -> Interval:
    """So much a second: the longest time makes the lowest rate."""
    low, high = (amount / each if each > 0 else math.nan for each in (time.high, time.low))
    return Interval(amount / time.median if time.median > 0 else math.nan, low, high)


def by_factor(values: Sequence[float]) -> bool:
    """Whether values belong on a logarithmic axis: each some times the one before, or far apart."""
    if len(values) < 2 or values[0] <= 0:
        return False
    if values[-1] / values[0] >= _FACTOR:
        return True
    steps = [after / before for before, after in itertools.pairwise(values)]
    return len(values) > 2 and max(steps) < 1.01 * min(steps)
