"""Measures operators and their alternatives at every point that is asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from opwright.bench.agreement import agreeing
from opwright.bench.asked import check_request
from opwright.bench.at_point import AtPoint
from opwright.bench.axes import LEADING, Size, call_at, grid
from opwright.bench.calls import Candidate, Function, Task, Tensors
from opwright.bench.candidates import Alternatives, free
from opwright.bench.clock import clock_of
from opwright.bench.machine import conditions, machine
from opwright.bench.report import Phase, Point, Report
from opwright.bench.roofline import Machine
from opwright.bench.setting import Request, Setting, note, sizes_label, type_choices
from opwright.check.subject import Subject
from opwright.check.threads import using_threads
from opwright.errors import ArgumentError, SourceError
from opwright.signature import Sample


def run(
    found: Mapping[str, Sequence[Subject]], load_options: Mapping[str, Mapping[str, Any]], asked: Request
) -> Report:
    """Measure.

    Args:
        found: the operators, by device.
        load_options: for other builds of them, by device.
        asked: sizes, element types, phases, and how.

    Raises:
        Interrupted: Ctrl-C.
        RequestError: what was asked for doesn't fit the operators.
    """
    report = Report(confidence=asked.confidence, machine={**machine(), **conditions()})
    total = check_request(found, asked)
    try:
        _every(found, load_options, asked, report, total)
    except KeyboardInterrupt:
        whole = sum(each.candidate == each.point.operator for each in report.measurements)
        report.stopped = f"stopped by Ctrl-C: {whole} of {total} points were measured"
        raise Interrupted(report) from None
    _noise(report)
    return report


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was measured until then as `report`."""

    def __init__(self, report: Report) -> None:
        """Keep the report."""
        super().__init__(report.stopped)
        self.report = report


def _every(
    found: Mapping[str, Sequence[Subject]],
    load_options: Mapping[str, Mapping[str, Any]],
    asked: Request,
    report: Report,
    total: int,
) -> None:
    done = 0
    with tempfile.TemporaryDirectory(prefix="opwright-bench-") as folder:
        for setting in _settings(found, load_options, asked, report, Path(folder)):
            for sizes in grid(setting.subject.signature, asked.axes):
                _sizes(setting, sizes, asked, report, (done, total))
                done += len(asked.phases)


def _settings(
    found: Mapping[str, Sequence[Subject]],
    load_options: Mapping[str, Mapping[str, Any]],
    asked: Request,
    report: Report,
    folder: Path,
) -> Iterator[Setting]:
    """One after the other; each has its number of threads while it is the current one."""
    for device, subjects in found.items():
        clock = clock_of(device, cold=asked.cache == "cold", flush=asked.flush)
        if clock.flush is not None:
            note(report, f"cold caches ({device}): {clock.flush.numel() / 2**20:g} MiB are written before each call")
        where = "cuda" if device == "cuda" else "cpu"
        for subject in subjects:
            alternatives = Alternatives(subject, folder, load_options[device], device)
            candidates = _candidates(alternatives, asked, report, alone=len(subjects) == 1)
            for types in type_choices(subject.signature, asked.dtypes):
                for threads in asked.threads:
                    with using_threads(threads):
                        yield Setting(subject, types, device, threads, candidates, clock, Machine(clock, where))


def _candidates(made: Alternatives, asked: Request, report: Report, *, alone: bool) -> list[Candidate]:
    """The operator and its alternatives; what suits another of the file's operators is no mistake."""
    found = [Candidate(made.subject.name, made.subject.function)]
    for name, given in asked.against.items():
        try:
            found.append(made.of(free(name, (made.subject.name,)), given))
        except (ArgumentError, SourceError) as error:  # noqa: PERF203
            if alone:
                raise
            note(report, f"{made.subject.name}: {error}")
    return found


def _sizes(setting: Setting, sizes: Mapping[str, Size], asked: Request, report: Report, at: tuple[int, int]) -> None:
    """All phases at one choice of sizes."""
    subject = setting.subject
    sample = call_at(subject.signature, sizes, setting.types)
    leading = {LEADING: sample.binding.ellipsis[0]} if sample.binding.ellipsis else {}
    shown = {**leading, **sample.binding.axes, **sizes}
    tensors = _tensors(setting, sample)
    names = {name: dtype.torch_name for name, dtype in setting.types.items()}
    candidates = agreeing(setting, tensors, sizes_label(shown), asked, report)
    for number, phase in enumerate(asked.phases):
        if asked.progress:
            asked.progress(f"{subject.name}, {phase}, {sizes_label(shown)}, {setting.device}", at[0] + number, at[1])
        point = Point(subject.name, phase, shown, names, setting.device, setting.threads, asked.cache)
        tasks = _tasks(candidates, tensors, phase, report)
        if subject.name not in tasks:
            continue
        if asked.visit is not None:
            asked.visit(point, tasks)
        else:
            by_name = {each.name: each for each in candidates}
            AtPoint(setting, point, tensors.binding(), asked).measured(tasks, by_name, report)


def _tasks(candidates: Sequence[Candidate], tensors: Tensors, phase: Phase, report: Report) -> dict[str, Task]:
    found = {each.name: _task(each.function, tensors, phase) for each in candidates}
    for name, task in found.items():
        if isinstance(task, str):
            note(report, f"{name}: no {phase}: {task}")
    return {name: task for name, task in found.items() if isinstance(task, Task)}


def _task(function: Function, tensors: Tensors, phase: Phase) -> Task | str:
    """What to time, once it was tried; or why there is nothing."""
    try:
        task = tensors.task(function, phase)
        if task.before is not None:
            task.before()
        task.call()
    except (TypeError, RuntimeError) as error:
        return str(error)
    return task


def _tensors(setting: Setting, sample: Sample) -> Tensors:
    """The arguments of a point.

    Raises:
        ArgumentError: there is no memory for them.
    """
    try:
        return Tensors(setting.subject, sample, setting.machine.device)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, (MemoryError, torch.OutOfMemoryError)) and "allocate" not in str(error):
            raise
        sizes = {name: made.storage_size * made.dtype.itemsize for name, made in sample.tensors.items() if made}
        most = max(sizes, key=sizes.__getitem__)
        raise ArgumentError(
            f"{setting.subject.name}: there is no memory for its arguments: {sum(sizes.values()) / 2**30:.3g} GiB, of "
            f"which {most} takes {sizes[most] / 2**30:.3g}\n  likely fix: smaller sizes: --axis"
        ) from None


def _noise(report: Report) -> None:
    """What makes a machine noisy."""
    busy = [each for each in report.comparisons if each.verdict == "too noisy"]
    if busy:
        note(report, f"{len(busy)} of {len(report.comparisons)} comparisons are too noisy to conclude")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 + max((m.point.threads for m in report.measurements), default=1):
        note(report, f"the load average is {load:.1f} on {cores} cores: other programs run")
