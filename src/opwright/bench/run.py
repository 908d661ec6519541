"""A run: measures operators and their alternatives at every point of a request."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from opwright.bench.alternatives import Alternatives, unused_name
from opwright.bench.clock import clock_of
from opwright.bench.machine import conditions, machine
from opwright.bench.point import PointMeasurement, Setting
from opwright.bench.request import LEADING, Request, Size, call_at, count_points, grid, type_choices
from opwright.bench.results.measurement import Phase, Point, describe_sizes
from opwright.bench.results.report import Report
from opwright.bench.roofline import Machine
from opwright.bench.screening import agreeing_candidates
from opwright.bench.tasks import Candidate, Function, Task, Tensors
from opwright.bench.tensor_lists import described
from opwright.check.calls.settings import using_threads
from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import ArgumentError, SourceError
from opwright.signature import Sample


class Interrupted(KeyboardInterrupt):
    """Raised for Ctrl-C, with the measurements so far as `report`."""

    def __init__(self, report: Report) -> None:
        """Store the report."""
        super().__init__(report.stopped)
        self.report = report


def run(
    subjects: Mapping[str, Sequence[TargetOperator]], load_options: Mapping[str, Mapping[str, Any]], request: Request
) -> Report:
    """Measure the points of a request.

    Args:
        subjects: the operators, by device.
        load_options: for other builds of them, by device.
        request: sizes, element types, phases, and settings.

    Raises:
        Interrupted: Ctrl-C was pressed.
        RequestError: the request doesn't fit the operators.
    """
    report = Report(confidence=request.confidence, machine={**machine(), **conditions()})
    total = count_points(subjects, request)
    try:
        with tempfile.TemporaryDirectory(prefix="opwright-bench-") as folder:
            _Run(subjects, load_options, request, report, Path(folder), total).measure()
    except KeyboardInterrupt:
        whole = sum(each.candidate == each.point.operator for each in report.measurements)
        report.stopped = f"stopped by Ctrl-C: {whole} of {total} points were measured"
        raise Interrupted(report) from None
    _note_noise(report)
    return report


@dataclass
class _Run:
    """One run.

    Attributes:
        subjects, load_options, request: of `run`.
        report: the report that results are added to.
        folder: folder for files of alternatives.
        total: number of points.
        done: number of finished points.
    """

    subjects: Mapping[str, Sequence[TargetOperator]]
    load_options: Mapping[str, Mapping[str, Any]]
    request: Request
    report: Report
    folder: Path
    total: int
    done: int = 0

    def measure(self) -> None:
        """Measure every point."""
        for setting in self._settings():
            for sizes in grid(setting.subject.signature, self.request.axes):
                self._measure_sizes(setting, sizes)

    def _settings(self) -> Iterator[Setting]:
        """Yield the settings one by one; PyTorch uses each one's number of threads until the next."""
        request = self.request
        for device, subjects in self.subjects.items():
            clock = clock_of(device, cold=request.cache == "cold", flush=request.flush)
            if clock.flush is not None:
                size = clock.flush.numel() / 2**20
                self.report.note(f"cold caches ({device}): {size:g} MiB are written before each call")
            place = "cuda" if device == "cuda" else "cpu"
            for subject in subjects:
                alternatives = Alternatives(subject, self.folder, self.load_options[device], device)
                candidates = self._candidates(alternatives, only_operator=len(subjects) == 1)
                for types in type_choices(subject.signature, request.dtypes):
                    for threads in request.threads:
                        with using_threads(threads):
                            yield Setting(subject, types, device, threads, candidates, clock, Machine(clock, place))

    def _candidates(self, alternatives: Alternatives, *, only_operator: bool) -> list[Candidate]:
        """Return the operator and its alternatives. With several operators, an alternative may fit only one of them."""
        subject = alternatives.subject
        candidates = [Candidate(subject.name, subject.function)]
        for name, alternative in self.request.against.items():
            try:
                candidates.append(alternatives.candidate(unused_name(name, (subject.name,)), alternative))
            except (ArgumentError, SourceError) as error:  # noqa: PERF203
                if only_operator:
                    raise
                self.report.note(f"{subject.name}: {error}")
        return candidates

    def _measure_sizes(self, setting: Setting, sizes: Mapping[str, Size]) -> None:
        """Measure all phases at one choice of sizes."""
        subject, request = setting.subject, self.request
        sample = call_at(subject.signature, sizes, setting.types)
        leading = {LEADING: sample.binding.ellipsis[0]} if sample.binding.ellipsis else {}
        all_sizes = {**leading, **described(subject.signature, sample.binding.axes), **sizes}
        label, types = describe_sizes(all_sizes), {name: dtype.torch_name for name, dtype in setting.types.items()}
        tensors = _tensors(setting, sample)
        candidates = agreeing_candidates(setting, tensors, label, request.phases, self.report)
        for phase in request.phases:
            if request.progress:
                request.progress(f"{subject.name}, {phase}, {label}, {setting.device}", self.done, self.total)
            self.done += 1
            point = Point(subject.name, phase, all_sizes, types, setting.device, setting.threads, request.cache)
            tasks = self._tasks(candidates, tensors, phase)
            if subject.name not in tasks:
                continue
            if request.visit is not None:
                request.visit(point, tasks)
            else:
                by_name = {candidate.name: candidate for candidate in candidates}
                PointMeasurement(setting, point, tensors.binding(), sample.named, request).measure(
                    tasks, by_name, self.report
                )

    def _tasks(self, candidates: Sequence[Candidate], tensors: Tensors, phase: Phase) -> dict[str, Task]:
        tasks = {}
        for candidate in candidates:
            task = _try_task(candidate.function, tensors, phase)
            if isinstance(task, Task):
                tasks[candidate.name] = task
            else:
                self.report.note(f"{candidate.name}: no {phase}: {task}")
        return tasks


def _try_task(function: Function, tensors: Tensors, phase: Phase) -> Task | str:
    """Return the task to time, after running it once; or the error message."""
    try:
        task = tensors.task(function, phase)
        task.run_once()
    except (TypeError, RuntimeError) as error:
        return str(error)
    return task


def _tensors(setting: Setting, sample: Sample) -> Tensors:
    """Create the arguments of a point.

    Raises:
        ArgumentError: there is no memory for them.
    """
    try:
        return Tensors(setting.subject, sample, setting.machine.device)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, (MemoryError, torch.OutOfMemoryError)) and "allocate" not in str(error):
            raise
        sizes = {name: made.storage_size * made.dtype.itemsize for name, made in sample.tensors.items() if made}
        largest = max(sizes, key=sizes.__getitem__)
        raise ArgumentError(
            f"{setting.subject.name}: there is no memory for its arguments: {sum(sizes.values()) / 2**30:.3g} GiB, of "
            f"which {largest} takes {sizes[largest] / 2**30:.3g}\n  likely fix: smaller sizes: --axis"
        ) from None


def _note_noise(report: Report) -> None:
    """Note comparisons without a verdict, and a high load average."""
    noisy = sum(each.verdict == "too noisy" for each in report.comparisons)
    if noisy:
        report.note(f"{noisy} of {len(report.comparisons)} comparisons are too noisy to conclude")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 + max((m.point.threads for m in report.measurements), default=1):
        report.note(f"the load average is {load:.1f} on {cores} cores: other programs run")
