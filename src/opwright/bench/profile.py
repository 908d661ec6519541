"""A trace of an operator and its alternatives by torch.profiler, in which every phase has its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from opwright.bench.calls import Task
from opwright.bench.points import facts, worded
from opwright.bench.report import Point
from opwright.bench.run import calls

CALLS = 10
"""Recorded of each candidate at each point."""
_WARM_UP = 3


def profile(op: Any, path: Path, **options: Any) -> int:
    """Record some calls of each candidate at each point, and write them as a Chrome trace.

    A range ``lltm: backward, B=16, S=128`` spans each call; what the phase needs before it, as a backward its forward,
    is a range of its own (``before lltm: ...``), and so are the first calls (``warm-up of lltm: ...``). Recording takes
    time: the trace says what happens in a call, `opwright.bench` how long it takes.

    Args:
        op: as in `opwright.bench`.
        path: where the trace goes.
        options: of `opwright.bench`; those that say how long to measure are of no use here.

    Returns:
        How many calls were recorded.
    """
    measuring = ("rounds", "seconds", "confidence", "progress")
    chosen = {name: value for name, value in options.items() if name not in measuring}
    return record(calls(op, **chosen), path)


def record(points: Iterable[tuple[Point, Mapping[str, Task]]], path: Path) -> int:
    """Record the tasks of each point; how many calls that were."""
    count = 0
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
    with torch.profiler.profile(activities=activities) as recorded:
        for point, tasks in points:
            for name, task in tasks.items():
                count += _recorded(f"{name}: {_where(point)}", task)
    recorded.export_chrome_trace(str(path))
    return count


def _where(point: Point) -> str:
    """A point in a line, short of the operator's name."""
    return worded({key: text for key, text in facts(point).items() if key.kind != "operator"})


def _recorded(label: str, task: Task) -> int:
    with record_function(f"warm-up of {label}"):
        for _ in range(_WARM_UP):
            if task.before:
                task.before()
            task.call()
    for _ in range(CALLS):
        if task.before:
            with record_function(f"before {label}"):
                task.before()
        with record_function(label):
            task.call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    return CALLS
