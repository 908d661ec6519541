"""Benchmark scripts: callables timed in turn, and a script's result as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.bench.machine import machine
from opwright.bench.results.measurement import format_seconds

if TYPE_CHECKING:
    from opwright.bench.clock import CpuClock
    from opwright.bench.tasks import Task

_WARM_UP_CALLS = 10


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the median over the rounds, the bounds of their middle half, and the samples of all rounds."""

    median: float
    low: float
    high: float
    samples: tuple[float, ...]


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 21,
    seconds: float = 0.02,
    warmup: int = 3,
    before: Callable[[], object] | None = None,
    finish: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Time every candidate in each round, beginning with another one each time.

    Args:
        candidates: callables, by name.
        rounds: number of samples of each candidate.
        seconds: duration of one sample, which sets its number of calls.
        warmup: number of rounds that don't count.
        before: called before each call, outside of its time.
        finish: called after the calls of a sample, within its time, to wait for asynchronous work, as of a GPU.
    """
    from opwright.bench.clock import CpuClock, without_garbage_collection
    from opwright.bench.tasks import Task

    names, clock = list(candidates), CpuClock(finish=finish)
    tasks = {name: Task(call, before) for name, call in candidates.items()}
    counts = {name: _calls_in(tasks[name], seconds, clock) for name in names}
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(warmup + rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            with without_garbage_collection():
                took = clock.sample(tasks[name], counts[name])
            if turn >= warmup:
                samples[name].append(took)
    return {name: summary(took) for name, took in samples.items()}


def summary(samples: list[float]) -> Timing:
    """Return the median and the quartiles of at least two samples."""
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(middle, low, high, tuple(samples))


def ratio(one: Timing, other: Timing) -> float:
    """Return the median of ``one / other``, round by round: drift cancels if the two were timed in turn."""
    return statistics.median(a / b for a, b in zip(one.samples, other.samples, strict=True))


def _calls_in(task: Task, seconds: float, clock: CpuClock) -> int:
    for _ in range(_WARM_UP_CALLS):  # compiling, allocating and starting threads aren't part of a call's time
        task.call()
    count = 1
    while (took := clock.sample(task, count) * count) < seconds / 2:
        count = max(count * 2, int(count * seconds / max(took, 1e-9) / 2))
    return max(1, round(count * seconds / took))


@dataclass
class Result:
    """The result of a benchmark script.

    Attributes:
        name: the script's name.
        what: one sentence: what was timed, and the unit of the ratios.
        timings: seconds, by variant.
        ratios: the script's claims, by name.
        targets: the limit of each ratio, as text: "<= 1.3".
        notes: measurements that failed, with the reason.
    """

    name: str
    what: str
    timings: dict[str, Timing] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def claim(self, ratio: str, value: float, target: str = "") -> None:
        """Add a ratio and its target, if any."""
        self.ratios[ratio] = value
        if target:
            self.targets[ratio] = target

    def show(self) -> None:
        """Print the tables."""
        from rich.console import Console
        from rich.table import Table

        console = Console()
        table = Table("variant", "median", "middle half", title=self.what, title_justify="left")
        for name, timing in self.timings.items():
            table.add_row(
                name, format_seconds(timing.median), f"{format_seconds(timing.low)} - {format_seconds(timing.high)}"
            )
        console.print(table)
        ratio_table = Table("ratio", "measured", "target")
        for name, value in self.ratios.items():
            ratio_table.add_row(name, f"{value:.2f}", self.targets.get(name, ""))
        console.print(ratio_table)
        for note in self.notes:
            console.print(note, markup=False)

    def finish(self, folder: Path) -> None:
        """Print the tables, and write the result into a folder."""
        self.show()
        print(write_result(self, folder))  # noqa: T201 - scripts print its path


def parse_rounds(description: str | None, default: int, text: str = "samples of each candidate") -> int:
    """Parse the command line of a script whose only option is ``--rounds``; return at least 2."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=default, help=text)
    rounds: int = parser.parse_args().rounds
    return max(rounds, 2)


def write_result(result: Result, folder: Path) -> Path:
    """Write the result, together with facts about the machine, to ``<folder>/<name>.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    stamp = datetime.now(timezone.utc).isoformat(timespec="seconds")
    facts = asdict(result)
    for timing in facts["timings"].values():
        timing["rounds"] = len(timing.pop("samples"))
    path.write_text(json.dumps({**facts, "date": stamp, "machine": machine()}, indent=2) + "\n")
    return path
