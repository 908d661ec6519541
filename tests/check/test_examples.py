"""The example operators are right, says check: they are what it must never find anything in."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(
    str(path.relative_to(EXAMPLES))
    for path in EXAMPLES.glob("*/*")
    if path.suffix in (".c", ".cpp", ".cu") and "torch/" not in path.read_text()
)
STRAIGHT_THROUGH = {"round": ("x",), "quantize": ("x",)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", FILES)
def test_examples_are_right(file: str) -> None:
    device = "emulated" if file.endswith(".cu") else "cpu"
    folder = file.partition("/")[0]
    straight_through = STRAIGHT_THROUGH.get(folder, ())
    report = opwright.check(EXAMPLES / file, level="quick", device=device, straight_through=straight_through)
    assert report.ok, str(report)
