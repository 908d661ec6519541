"""benchmarks/lltm_tutorial.py: what it writes into the page, from a report that was never measured."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from opwright.bench.results.measurement import Comparison, Interval, Measurement, Phase, Point
from opwright.bench.results.report import Report

ROOT = Path(__file__).parents[2]
PHASES: tuple[Phase, ...] = ("forward", "backward", "both")
TIMES = {"lltm": 2e-5, "Python": 8e-5, "C++ on ATen": 6e-5}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "benchmarks/lltm_tutorial.py"
    spec = importlib.util.spec_from_file_location("lltm_tutorial", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report() -> Report:
    found = Report(machine={"cpu": "one"}, notes=["quiet"])
    for phase in PHASES:
        for batch in (1, 16):
            point = Point("lltm", phase, {"B": batch, "I": 32, "S": 128}, {"T": "float32"})
            for name, time in TIMES.items():
                interval = Interval(time * batch, time * batch, time * batch)
                found.measurements.append(Measurement(point, name, interval, (1.23456789e-5,) * 30, 0, 1))
                if name != "lltm":
                    ratio = time / TIMES["lltm"]
                    found.comparisons.append(Comparison(point, name, "lltm", Interval(ratio, ratio, ratio), "slower"))
    return found


def test_the_table_is_that_of_the_tutorials_sizes(script: ModuleType) -> None:
    rows = script.table(report(), "cpu").splitlines()[2:]
    assert rows == [
        "| Python | 1.28 ms | 1.28 ms | 1.28 ms | 1.00 |",
        "| C++ on ATen | 960 µs | 960 µs | 960 µs | 1.33 |",
        "| **fused**, one operator | 320 µs | 320 µs | 320 µs | 4.00 |",
    ]


def test_the_page_has_a_place_for_each_device(script: ModuleType) -> None:
    text = script.PAGE.read_text()
    for device in ("cpu", "cuda"):
        body = script.section(report(), device)
        again = script.updated(script.updated(text, device, "old"), device, body)
        assert body in again
        assert "old\n" not in again
        assert again.count("<!--") == text.count("<!--") == 4
    with pytest.raises(ValueError, match="has no place for tpu"):
        script.updated(text, "tpu", "")


def test_the_committed_page_shows_the_committed_report(script: ModuleType) -> None:
    found = Report.read((ROOT / "benchmarks/results/lltm_tutorial_cpu.json").read_text())
    text = script.PAGE.read_text()
    assert script.updated(text, "cpu", script.section(found, "cpu")) == text
    assert script.picture("cpu").exists()


def test_the_committed_report_is_short(script: ModuleType) -> None:
    text = script.compact(report().to_json())
    assert "1.235e-05" in text
    assert Report.read(text).measurements[0].point == report().measurements[0].point
    assert json.loads(text)["notes"] == ["quiet"]
