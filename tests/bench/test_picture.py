"""What is drawn, and that it can be told apart without colours."""

from __future__ import annotations

import itertools
import math
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.bench.results.measurement import Interval
from opwright.bench.results.picture import _bounds, _styles, by_factor, draw, panels, require_matplotlib
from opwright.bench.results.report import Report

MakeReport = Callable[..., Report]
mpl = pytest.importorskip("matplotlib")


def words(path: Path) -> set[str]:
    root = ET.parse(path).getroot()  # noqa: S314 - our own
    return {"".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.slow
def test_a_swept_size_makes_curves(make_report: MakeReport, tmp_path: Path) -> None:
    svg, png = tmp_path / "bench.svg", tmp_path / "bench.png"
    draw(make_report(), svg, png)
    assert png.read_bytes().startswith(b"\x89PNG")
    told = words(svg)
    assert {"op", "torch.exp(x)", "compile:torch.exp(x)", "forward", "backward", "N", "a copy"} <= told
    assert {"time of a call [µs]", "bandwidth reached [GB/s]", "1", "4", "16", "64"} <= told
    assert "op, M=3, T=float32, cpu, 1 thread, warm cache" in told


@pytest.mark.slow
def test_the_same_report_makes_the_same_file(make_report: MakeReport, tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    draw(make_report(), first)
    draw(make_report(), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_panel_holds_every_candidate_with_its_interval(make_report: MakeReport) -> None:
    shared, (forward, backward) = panels(make_report())
    assert shared == "op, M=3, T=float32, cpu, 1 thread, warm cache"
    assert (forward.title, backward.title, forward.axis) == ("forward", "backward", "N")
    assert forward.sizes == [1, 4, 16, 64]
    assert forward.copies == [(size, 1.6e7) for size in forward.sizes]
    spot = forward.curves["torch.exp(x)"][2]
    assert spot.time.median == pytest.approx(32e-6)
    assert spot.bandwidth is not None
    assert spot.bandwidth.median == pytest.approx(8 * 16 / 32e-6)
    assert spot.bandwidth.low == pytest.approx(8 * 16 / spot.time.high)
    assert spot.bandwidth.high == pytest.approx(8 * 16 / spot.time.low)


@pytest.mark.slow
def test_without_a_sweep_there_are_bars(make_report: MakeReport, tmp_path: Path) -> None:
    svg = tmp_path / "bench.svg"
    draw(make_report(sizes=(5,)), svg)
    told = words(svg)
    assert {"op", "torch.exp(x)", "forward", "backward", "time of a call [µs]"} <= told
    assert "N" not in told


def test_candidates_differ_in_lines_markers_hatches_and_lightness() -> None:
    styles = list(_styles([str(number) for number in range(7)]).values())
    for told in (("linestyle", "marker"), ("hatch",)):
        assert len({tuple(style[key] for key in told) for style in styles}) == len(styles)
    lightness = sorted(0.299 * r + 0.587 * g + 0.114 * b for r, g, b, _ in (style["color"] for style in styles))
    assert all(after - before > 0.05 for before, after in itertools.pairwise(lightness))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((1, 2, 4), True), ((10, 100, 1000), True), ((1, 3, 64), True), ((10, 20, 30), False), ((0, 1, 64), False)],
)
def test_sizes_that_grow_by_a_factor(sizes: tuple[int, ...], expected: bool) -> None:
    assert by_factor(sizes) is expected


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        require_matplotlib()
    assert str(caught.value) == (
        "the picture needs matplotlib; install it with `pip install opwright[bench]`, or leave --picture out: "
        "--json keeps all that it would show"
    )


def test_what_cant_be_drawn(make_report: MakeReport, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape("bench.pdf: a picture's name ends in .png or .svg")):
        draw(make_report(), tmp_path / "bench.pdf")
    with pytest.raises(ValueError, match="nothing was measured, so there is nothing to draw"):
        draw(Report(), tmp_path / "bench.svg")


@pytest.mark.parametrize(("low", "high"), [(0.0, math.inf), (1.0, math.inf), (0.0, 9.0)])
def test_an_interval_that_is_not_known_has_no_band(low: float, high: float) -> None:
    assert _bounds(Interval(4.0, low, high), 2.0) == (2.0, 2.0)
    assert _bounds(Interval(4.0, 3.0, 6.0), 2.0) == (1.5, 3.0)
