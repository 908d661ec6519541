"""A trace of an operator and its alternatives by torch.profiler (``--profile``), with a label for each phase."""

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

from opwright.bench.results.measurement import Point, describe, facts
from opwright.bench.tasks import Task

CALLS = 10
"""Number of recorded calls of each candidate at each point."""
_WARM_UP = 3


@dataclass
class Trace:
    """A trace for Chrome and Perfetto.

    Each call is in a range ``lltm: backward, B=16, S=128, ...``, and its setup (the forward of a backward) in a range
    ``before lltm: ...``. Anything outside of these, such as compiling, isn't recorded.

    Attributes:
        content: the file's content.
    """

    content: dict[str, Any] = field(default_factory=dict)
    _sessions: int = 0

    def __call__(self, point: Point, tasks: Mapping[str, Task]) -> None:
        """Record some calls of each candidate at a point."""
        for task in tasks.values():
            for _ in range(_WARM_UP):
                _call(task)
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        where = describe({key: text for key, text in facts(point).items() if key.kind != "operator"})
        with torch.profiler.profile(activities=activities) as recorded:
            for name, task in tasks.items():
                for _ in range(CALLS):
                    _call(task, f"{name}: {where}")
        with tempfile.TemporaryDirectory(prefix="opwright-trace-") as folder:
            path = os.path.join(folder, "trace.json")
            recorded.export_chrome_trace(path)
            self._add(json.loads(Path(path).read_bytes()))

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(self.content), encoding="utf-8")

    def _add(self, part: dict[str, Any]) -> None:
        """Add another session of the profiler. Sessions use the same clock, but each numbers its arrows from 1."""
        self._sessions += 1
        events = part["traceEvents"]
        for event in events:
            if "id" in event and event.get("ph") in ("s", "t", "f"):
                event["id"] = f"{self._sessions}.{event['id']}"
        if self.content:
            self.content["traceEvents"] += events
        else:
            self.content = part


def _call(task: Task, label: str = "warm-up") -> None:
    if task.before is not None:
        with record_function(f"before {label}"):
            task.before()
    with record_function(label):
        task.call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
