"""Time and bandwidth against size, with matplotlib; what tells candidates apart survives a black and white printer."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.bench.panels import Panel, Spot, by_factor, panels
from opwright.bench.report import Interval, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_LINES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_HATCHES = ("", "//", "xx", "..", "\\\\", "++", "oo")
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_TICKS = 14
Style = dict[str, Any]


def require() -> None:
    """Whether there is matplotlib, before anything is measured.

    Raises:
        ModuleNotFoundError: there is none.
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
    """Draw time and achieved bandwidth of every candidate, and write the picture to each path.

    Against the axis with the most sizes, the medians and a band for their intervals; bars where nothing is swept. The
    axes are logarithmic where sizes grow by a factor. The same report makes the same file.

    Args:
        report: what was measured.
        paths: files that end in ``.png`` or ``.svg``.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: nothing was measured, or a file's name ends in something else.
    """
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise ValueError(f"{path}: a picture's name ends in {' or '.join(SUFFIXES)}")
    require()
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    shared, found = panels(report)
    styles = _styles(list(dict.fromkeys(name for panel in found for name in panel.curves)))
    with mpl.rc_context({"svg.hashsalt": "opwright", "svg.fonttype": "none", "hatch.linewidth": 0.6}):
        figure = _figure(shared, found, styles, report)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=150, metadata=metadata)
        plt.close(figure)


def _styles(names: Sequence[str]) -> dict[str, Style]:
    """Of each candidate: lines, markers and a colour whose lightness is its own."""
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


def _figure(shared: str, found: Sequence[Panel], styles: dict[str, Style], report: Report) -> Any:
    import matplotlib.pyplot as plt

    has_bandwidth = any(spot.bandwidth for panel in found for curve in panel.curves.values() for spot in curve)
    columns = 2 if has_bandwidth else 1
    figure, grid = plt.subplots(
        len(found), columns, figsize=(5.5 * columns, 3.1 * len(found) + 1.1), layout="constrained", squeeze=False
    )
    for row, panel in zip(grid, found, strict=True):
        _time(row[0], panel, styles)
        if has_bandwidth:
            _bandwidth(row[1], panel, styles)
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    title = "\n".join(textwrap.wrap(shared, 55 * columns))  # suptitle and a legend outside would lie upon each other
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
    unit, scale = next(((u, s) for u, s in _TIMES if middle >= s), _TIMES[-1])
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
        name: [(spot.size, found) for spot in curve if (found := of(spot)) is not None]
        for name, curve in panel.curves.items()
    }
    if not panel.axis:
        _bars(axes, {name: curve[0][1] for name, curve in curves.items() if curve}, styles, scale)
        return
    for name, curve in curves.items():
        if curve:
            _curve(axes, name, curve, styles[name], scale)
    _scales(axes, panel, [found.median for curve in curves.values() for _, found in curve])


def _curve(axes: Axes, name: str, curve: Sequence[tuple[float, Interval]], style: Style, scale: float) -> None:
    sizes = [size for size, _ in curve]
    line = {key: value for key, value in style.items() if key != "hatch"}
    axes.plot(sizes, [found.median / scale for _, found in curve], label=name, markersize=5, linewidth=1.4, **line)
    low, high = zip(*(_bounds(found, scale) for _, found in curve), strict=True)
    axes.fill_between(sizes, low, high, color=style["color"], alpha=0.25, linewidth=0)


def _bars(axes: Axes, found: dict[str, Interval], styles: dict[str, Style], scale: float) -> None:
    for place, (name, each) in enumerate(found.items()):
        low, high = _bounds(each, scale)
        middle = each.median / scale
        spread = [[middle - low], [high - middle]]
        style = styles[name]
        axes.barh(
            place, middle, xerr=spread, label=name, facecolor=(*style["color"][:3], 0.6), hatch=style["hatch"],
            edgecolor="black", capsize=3,
        )  # fmt: skip
    axes.set_yticks([])
    axes.invert_yaxis()


def _bounds(found: Interval, scale: float) -> tuple[float, float]:
    """An interval's bounds; the median where they aren't known."""
    known = found.low > 0 and math.isfinite(found.high)
    low, high = (found.low, found.high) if known else (found.median, found.median)
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
