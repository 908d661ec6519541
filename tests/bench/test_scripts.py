from __future__ import annotations

import importlib
import json
import time
from pathlib import Path

import pytest

from opwright.bench import Result, interleaved, machine, ratio, write_result
from opwright.bench.results.measurement import format_seconds
from opwright.bench.scripts import summary


def test_what_takes_longer_is_found_to_take_longer() -> None:
    timings = interleaved(
        {"short": lambda: time.sleep(0.001), "long": lambda: time.sleep(0.004)}, rounds=5, seconds=0.01, warmup=1
    )
    assert timings["short"].median >= 0.001
    assert timings["long"].median >= 0.004
    assert timings["short"].low <= timings["short"].median <= timings["short"].high
    assert len(timings["long"].samples) == 5


def test_every_candidate_is_called_in_every_round() -> None:
    order: list[str] = []
    interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2, seconds=1e-6, warmup=0)
    changes = [name for name, before in zip(order, ["", *order], strict=False) if name != before]
    assert set(changes) == {"a", "b"}
    assert len(changes) >= 4


def test_summary_is_the_median_and_the_quartiles() -> None:
    timing = summary([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (timing.low, timing.median, timing.high) == (2.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (4.56e-5, "45.6 µs"), (7.8e-8, "78.0 ns"), (0.0, "0 ns")],
)
def test_durations_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_a_result_names_the_machine_and_the_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Result("x", "what", {"a": summary([1e-6, 2e-6])}, {"a / b": 1.25}, {"a / b": "<= 2"})
    result.show()
    shown = capsys.readouterr().out
    assert "1.25" in shown
    assert "<= 2" in shown
    written = json.loads(write_result(result, tmp_path).read_text())
    assert written["machine"] == machine()
    assert {"cpu", "python", "compiler", "torch", "opwright"} <= written["machine"].keys()
    assert written["ratios"] == {"a / b": 1.25}
    assert written["timings"]["a"]["median"] == pytest.approx(1.5e-6)
    assert written["timings"]["a"]["rounds"] == 2


def test_a_ratio_is_taken_round_by_round() -> None:
    slow_half_the_time = summary([1.0, 10.0, 1.0, 10.0, 1.0])
    assert ratio(summary([2.0, 20.0, 2.0, 20.0, 2.0]), slow_half_the_time) == 2.0


def test_what_calls_began_is_waited_for_within_the_time() -> None:
    begun: list[int] = []

    def wait() -> None:
        time.sleep(0.03 * len(begun))
        begun.clear()

    timings = interleaved({"later": lambda: begun.append(1)}, rounds=3, seconds=0.05, warmup=0, finish=wait)
    assert timings["later"].low >= 0.03
    first = interleaved(
        {"later": lambda: begun.append(1)},
        rounds=3,
        seconds=0.05,
        warmup=0,
        finish=wait,
        before=lambda: begun.append(1),
    )
    assert 0.03 <= first["later"].low < 0.06  # what comes before is waited for outside


def test_notes_are_shown_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Result("x", "what", notes=["nvcc: [none] here"])
    result.show()
    assert "nvcc: [none] here" in capsys.readouterr().out
    assert json.loads(write_result(result, tmp_path).read_text())["notes"] == ["nvcc: [none] here"]


def test_the_drivers_version(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("opwright.bench.machine")
    line = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12.2\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda _path: line)
    assert module._driver() == "535.104.05"


def test_what_comes_before_a_call_is_not_timed() -> None:
    timings = interleaved({"nothing": lambda: None}, rounds=3, seconds=1e-5, warmup=0, before=lambda: time.sleep(0.005))
    assert timings["nothing"].median < 0.004
