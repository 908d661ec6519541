"""A benchmark's result as a table on the terminal and as JSON in a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from opwright.bench.machine import machine
from opwright.bench.timing import Timing


@dataclass
class Result:
    """What one script measured.

    Attributes:
        name: the script's name.
        what: one sentence: what was timed, and in which unit ratios are.
        timings: seconds, by variant.
        ratios: what the script claims, by name.
        targets: the bound of each ratio, as text: "<= 1.3".
        notes: what could not be measured, and why.
    """

    name: str
    what: str
    timings: dict[str, Timing] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def show(self) -> None:
        """Print the tables."""
        from rich.console import Console
        from rich.table import Table

        console = Console()
        table = Table("variant", "median", "middle half", title=self.what, title_justify="left")
        for name, timing in self.timings.items():
            table.add_row(name, duration(timing.median), f"{duration(timing.low)} - {duration(timing.high)}")
        console.print(table)
        ratios = Table("ratio", "measured", "target")
        for name, value in self.ratios.items():
            ratios.add_row(name, f"{value:.2f}", self.targets.get(name, ""))
        console.print(ratios)
        for note in self.notes:
            console.print(note, markup=False)


def write_result(result: Result, folder: Path) -> Path:
    """Write ``<folder>/<name>.json`` with the machine's facts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    stamp = datetime.now(timezone.utc).isoformat(timespec="seconds")
    facts = asdict(result)
    for timing in facts["timings"].values():
        timing["rounds"] = len(timing.pop("samples"))
    path.write_text(json.dumps({**facts, "date": stamp, "machine": machine()}, indent=2) + "\n")
    return path


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
