"""A trace of an operator and its alternatives by torch.profiler, in which every phase has its name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from opwright.bench.calls import Task
from opwright.bench.points import facts, worded
from opwright.bench.report import Point

CALLS = 10
"""Recorded of each candidate at each point."""
_WARM_UP = 3


@dataclass
class Trace:
    """What was recorded.

    A range ``lltm: backward, B=16, S=128, ...`` spans each call, and one called ``before lltm: ...`` what it needs: a
    backward its forward. What runs outside of these, as compiling, isn't recorded.

    Attributes:
        whole: what Chrome's trace viewer and Perfetto read.
    """

    whole: dict[str, Any] = field(default_factory=dict)
    _sessions: int = 0

    def __call__(self, point: Point, tasks: Mapping[str, Task]) -> None:
        """Record some calls of each candidate at a point."""
        for task in tasks.values():
            for _ in range(_WARM_UP):
                _call(task)
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        where = worded({key: text for key, text in facts(point).items() if key.kind != "operator"})
        with torch.profiler.profile(activities=activities) as recorded:
            for name, task in tasks.items():
                for _ in range(CALLS):
                    _call(task, f"{name}: {where}")
        with tempfile.TemporaryDirectory(prefix="opwright-trace-") as folder:
            path = os.path.join(folder, "trace.json")
            recorded.export_chrome_trace(path)
            self._add(json.loads(Path(path).read_bytes()))

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(self.whole), encoding="utf-8")

    def _add(self, part: dict[str, Any]) -> None:
        """Another session of the profiler. Their clocks are the same, but each numbers its arrows from 1."""
        self._sessions += 1
        events = part["traceEvents"]
        for event in events:
            if "id" in event and event.get("ph") in ("s", "t", "f"):
                event["id"] = f"{self._sessions}.{event['id']}"
        if self.whole:
            self.whole["traceEvents"] += events
        else:
            self.whole = part


def _call(task: Task, label: str = "warm-up") -> None:
    if task.before:
        with record_function(f"before {label}"):
            task.before()
    with record_function(label):
        task.call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
