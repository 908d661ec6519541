"""A picture of time and bandwidth against size, by matplotlib; candidates can be told apart in black and white, too."""

from __future__ import annotations

import itertools
import math
import statistics
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.bench.results.measurement import Interval, Key, Measurement, describe, facts, split_facts, time_unit
from opwright.bench.results.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FACTOR = 16
"""Sizes with a larger ratio don't fit on a linear axis."""


@dataclass(frozen=True)
class Spot:
    """One measurement: its size on the swept axis, seconds, and bytes per second if the traffic is known."""

    size: float
    time: Interval
    bandwidth: Interval | None
    copy: float | None


@dataclass(frozen=True)
class Panel:
    """The curves of one plot.

    Attributes:
        title: the facts that distinguish it from other panels.
        axis: the name of the swept axis; empty if there is none.
        curves: measurements of each candidate, in the order of the sizes.
    """

    title: str
    axis: str
    curves: dict[str, list[Spot]]

    @property
    def sizes(self) -> list[float]:
        """The measured sizes."""
        return sorted({spot.size for curve in self.curves.values() for spot in curve})

    @property
    def copies(self) -> list[tuple[float, float]]:
        """The bandwidth of a copy of the same number of bytes, by size."""
        spots = [spot for curve in self.curves.values() for spot in curve]
        return sorted({spot.size: spot.copy for spot in spots if spot.copy is not None}.items())


def panels(report: Report) -> tuple[str, list[Panel]]:
    """Return a description of the facts that all panels share, and the panels.

    Raises:
        ValueError: nothing was measured.
    """
    if not report.measurements:
        raise ValueError("nothing was measured, so there is nothing to draw")
    varying, shared = split_facts(each.point for each in report.measurements)
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    swept = {op: _swept(report, op) for op in dict.fromkeys(each.point.operator for each in report.measurements)}
    for each in report.measurements:
        axis = swept[each.point.operator]
        rest = tuple(text for key, text in facts(each.point).items() if key != axis)
        groups.setdefault(rest, []).append(each)
    return describe(shared), [_panel(group, varying, swept[group[0].point.operator]) for group in groups.values()]


def _swept(report: Report, operator: str) -> Key | None:
    """Return the axis with the most sizes."""
    points = [each.point for each in report.measurements if each.point.operator == operator]
    numbers = [name for name, size in points[0].sizes.items() if not isinstance(size, str)]
    counts = {name: len({point.sizes.get(name) for point in points}) for name in numbers}
    name = max(counts, key=lambda each: counts[each], default=None)
    return Key("size", name) if name is not None and counts[name] > 1 else None


def _panel(group: Sequence[Measurement], varying: Sequence[Key], swept: Key | None) -> Panel:
    texts = facts(group[0].point)
    title = describe({key: texts.get(key, "") for key in varying if key != swept})
    curves: dict[str, list[Spot]] = {}
    for each in sorted(group, key=lambda one: one.point.sizes[swept.name] if swept else 0):
        size = each.point.sizes[swept.name] if swept else 0
        assert not isinstance(size, str)  # noqa: S101 - `_swept` chooses numbers
        roofline = each.roofline
        rate = None if roofline is None else _rate(roofline.bytes, each.time)
        spot = Spot(size, each.time, rate, None if roofline is None else roofline.copy_bandwidth)
        curves.setdefault(each.candidate, []).append(spot)
    return Panel(title, swept.name if swept else "", curves)


def _rate(amount: float, time: Interval) -> Interval:
    """Return the rate as an interval: the longest time gives the lowest rate."""
    low, high = (amount / each if each > 0 else math.nan for each in (time.high, time.low))
    return Interval(amount / time.median if time.median > 0 else math.nan, low, high)


def by_factor(values: Sequence[float]) -> bool:
    """Return whether values belong on a logarithmic axis: their ratios are equal, or they are far apart."""
    if len(values) < 2 or values[0] <= 0:
        return False
    if values[-1] / values[0] >= _FACTOR:
        return True
    steps = [after / before for before, after in itertools.pairwise(values)]
    return len(values) > 2 and max(steps) < 1.01 * min(steps)


SUFFIXES = (".png", ".svg")
_LINES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_HATCHES = ("", "//", "xx", "..", "\\\\", "++", "oo")
_TICKS = 14
Style = dict[str, Any]


def require_matplotlib() -> None:
    """Import matplotlib, before anything is measured.

    Raises:
        ModuleNotFoundError: it isn't installed.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "the picture needs matplotlib; install it with `pip install opwright[bench]`, or leave --picture out: "
            "--json keeps all that it would show",
            name="matplotlib",
        ) from error
    mpl.use("agg")


def draw(report: Report, *paths: Path) -> None:
    """Draw time and bandwidth of every candidate, and write the picture to each path.

    Draws medians, with a band for their intervals, against the axis with the most sizes; or bars if no axis is swept.
    The axes are logarithmic if sizes grow by a factor. The same report results in the same file.

    Args:
        report: the report.
        paths: files that end in ``.png`` or ``.svg``.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: nothing was measured, or a file's name has another ending.
    """
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise ValueError(f"{path}: a picture's name ends in {' or '.join(SUFFIXES)}")
    require_matplotlib()
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    shared, drawn = panels(report)
    styles = _styles(list(dict.fromkeys(name for panel in drawn for name in panel.curves)))
    with mpl.rc_context({"svg.hashsalt": "opwright", "svg.fonttype": "none", "hatch.linewidth": 0.6}):
        figure = _figure(shared, drawn, styles, report)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=150, metadata=metadata)
        plt.close(figure)


def _styles(names: Sequence[str]) -> dict[str, Style]:
    """Return a line style, marker, hatch and colour for each candidate; colours differ in lightness."""
    import matplotlib as mpl

    colours = mpl.colormaps["cividis"]
    shades = [colours(0.75 * index / max(1, len(names) - 1)) for index in range(len(names))]
    return {
        name: {
            "color": shade,
            "linestyle": _LINES[index % len(_LINES)],
            "marker": _MARKERS[index % len(_MARKERS)],
            "hatch": _HATCHES[index % len(_HATCHES)],
        }
        for index, (name, shade) in enumerate(zip(names, shades, strict=True))
    }


def _figure(shared: str, drawn: Sequence[Panel], styles: dict[str, Style], report: Report) -> Any:
    import matplotlib.pyplot as plt

    has_bandwidth = any(spot.bandwidth for panel in drawn for curve in panel.curves.values() for spot in curve)
    columns = 2 if has_bandwidth else 1
    figure, grid = plt.subplots(
        len(drawn), columns, figsize=(5.5 * columns, 3.1 * len(drawn) + 1.1), layout="constrained", squeeze=False
    )
    for row, panel in zip(grid, drawn, strict=True):
        _time(row[0], panel, styles)
        if has_bandwidth:
            _bandwidth(row[1], panel, styles)
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    title = "\n".join(textwrap.wrap(shared, 55 * columns))  # a suptitle and a legend outside would overlap
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=columns, title=title, frameon=False
    )
    figure.supxlabel("\n".join(textwrap.wrap(_footer(report), 85 * columns)), fontsize="x-small")
    return figure


def _footer(report: Report) -> str:
    machine = ", ".join(report.machine[key] for key in ("cpu", "gpu") if key in report.machine)
    return f"medians; bands: {100 * report.confidence:g}% intervals{f'; {machine}' if machine else ''}"


def _time(axes: Axes, panel: Panel, styles: dict[str, Style]) -> None:
    medians = [spot.time.median for curve in panel.curves.values() for spot in curve]
    middle = statistics.median(medians)
    unit, scale = time_unit(middle)
    _plot(axes, panel, styles, lambda spot: spot.time, scale)
    axes.set_title(panel.title, fontsize="medium")
    _label(axes, panel, f"time of a call [{unit}]")


def _bandwidth(axes: Axes, panel: Panel, styles: dict[str, Style]) -> None:
    if panel.copies and panel.axis:
        sizes, rates = zip(*panel.copies, strict=True)
        axes.plot(sizes, [rate / 1e9 for rate in rates], color="0.5", linewidth=3, alpha=0.5, label="a copy", zorder=0)
    elif panel.copies:
        axes.axvline(panel.copies[0][1] / 1e9, color="0.5", linewidth=3, alpha=0.5, label="a copy", zorder=0)
    _plot(axes, panel, styles, lambda spot: spot.bandwidth, 1e9)
    axes.set_title(panel.title, fontsize="medium")
    _label(axes, panel, "bandwidth reached [GB/s]")


def _label(axes: Axes, panel: Panel, text: str) -> None:
    if panel.axis:
        axes.set(xlabel=panel.axis, ylabel=text)
    else:
        axes.set_xlabel(text)


def _plot(
    axes: Axes, panel: Panel, styles: dict[str, Style], of: Callable[[Spot], Interval | None], scale: float
) -> None:
    curves = {
        name: [(spot.size, interval) for spot in curve if (interval := of(spot)) is not None]
        for name, curve in panel.curves.items()
    }
    if not panel.axis:
        _bars(axes, {name: curve[0][1] for name, curve in curves.items() if curve}, styles, scale)
        return
    for name, curve in curves.items():
        if curve:
            _curve(axes, name, curve, styles[name], scale)
    _scales(axes, panel, [interval.median for curve in curves.values() for _, interval in curve])


def _curve(axes: Axes, name: str, curve: Sequence[tuple[float, Interval]], style: Style, scale: float) -> None:
    sizes = [size for size, _ in curve]
    line = {key: value for key, value in style.items() if key != "hatch"}
    axes.plot(sizes, [each.median / scale for _, each in curve], label=name, markersize=5, linewidth=1.4, **line)
    low, high = zip(*(_bounds(interval, scale) for _, interval in curve), strict=True)
    axes.fill_between(sizes, low, high, color=style["color"], alpha=0.25, linewidth=0)


def _bars(axes: Axes, intervals: dict[str, Interval], styles: dict[str, Style], scale: float) -> None:
    for place, (name, interval) in enumerate(intervals.items()):
        low, high = _bounds(interval, scale)
        middle = interval.median / scale
        spread = [[middle - low], [high - middle]]
        style = styles[name]
        axes.barh(
            place, middle, xerr=spread, label=name, facecolor=(*style["color"][:3], 0.6), hatch=style["hatch"],
            edgecolor="black", capsize=3,
        )  # fmt: skip
    axes.set_yticks([])
    axes.invert_yaxis()


def _bounds(interval: Interval, scale: float) -> tuple[float, float]:
    """Return an interval's bounds, or the median if they aren't known."""
    known = interval.low > 0 and math.isfinite(interval.high)
    low, high = (interval.low, interval.high) if known else (interval.median, interval.median)
    return low / scale, high / scale


def _scales(axes: Axes, panel: Panel, values: Sequence[float]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    sizes = panel.sizes
    if by_factor(sizes):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
    if by_factor(sizes) and by_factor([min(values, default=0), max(values, default=0)]):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    if len(sizes) <= _TICKS:
        axes.set_xticks(sizes, [str(size) for size in sizes], rotation=45 if len(sizes) > 7 else 0)
    axes.grid(visible=True, alpha=0.3)
