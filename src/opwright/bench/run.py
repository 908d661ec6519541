"""Measures an operator and its alternatives at every point that is asked for."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from opwright.bench.agreement import disagreement
from opwright.bench.axes import LEADING, call_at, grid, least_call
from opwright.bench.calls import Candidate, Function, Task, Tensors
from opwright.bench.candidates import Alternatives
from opwright.bench.clock import Clock, clock_of
from opwright.bench.machine import conditions, machine
from opwright.bench.measure import Plan, Samples, measure
from opwright.bench.operations import Operations
from opwright.bench.report import Comparison, Measurement, Phase, Point, Report
from opwright.bench.roofline import Machine, roofline, seconds, traffic
from opwright.bench.statistics import interval, outliers, ratios, verdict
from opwright.check.subject import Subject
from opwright.errors import ArgumentError
from opwright.signature import DType, Sample

Progress = Callable[[str, int, int], None]
"""Called with what is measured next, how many points are done, and how many there are."""

_SECONDS = 0.5
"""For each candidate at a point."""


@dataclass(frozen=True)
class Request:
    """What was asked for; see `opwright.bench`."""

    axes: Mapping[str, Sequence[int] | int]
    dtypes: Sequence[str] | None
    threads: Sequence[int]
    phases: Sequence[Phase]
    cache: Literal["warm", "cold"]
    flush: int | None
    rounds: int | None
    seconds: float | None
    confidence: float
    against: Mapping[str, Any]
    operations: Operations
    progress: Progress | None
    rooflines: bool = True
    visit: Callable[[Point, Mapping[str, Task]], None] | None = None
    """Called with what would be timed at each point, in its place."""


@dataclass(frozen=True)
class Setting:
    """Points that differ in their sizes and phases only, with what they have in common."""

    subject: Subject
    types: Mapping[str, DType]
    device: str
    threads: int
    candidates: Sequence[Candidate]
    clock: Clock
    machine: Machine
    overheads: dict[tuple[str, Phase], float] = field(default_factory=dict)


def run(
    found: Mapping[str, Sequence[Subject]], load_options: Mapping[str, Mapping[str, Any]], asked: Request
) -> Report:
    """Measure.

    Args:
        found: the operators, by device.
        load_options: for other builds of them, by device.
        asked: sizes, element types, phases, and how.
    """
    report = Report(confidence=asked.confidence, machine={**machine(), **conditions()})
    cases = [
        (subject, types, device, threads)
        for device, subjects in found.items()
        for subject in subjects
        for types in _types(subject, asked.dtypes)
        for threads in asked.threads
    ]
    total, done = sum(len(grid(subject.signature, asked.axes)) * len(asked.phases) for subject, *_ in cases), 0
    with tempfile.TemporaryDirectory(prefix="opwright-bench-") as folder:
        for subject, types, device, threads in cases:
            with _threads(threads):
                chosen = _candidates(subject, asked, Path(folder), load_options[device], device)
                clock = clock_of(device, cold=asked.cache == "cold", flush=asked.flush)
                where = "cuda" if device == "cuda" else "cpu"
                setting = Setting(subject, types, device, threads, chosen, clock, Machine(clock, where))
                for sizes in grid(subject.signature, asked.axes):
                    _sizes(setting, sizes, asked, report, (done, total))
                    done += len(asked.phases)
    _noise(report)
    return report


def _candidates(
    subject: Subject, asked: Request, folder: Path, load_options: Mapping[str, Any], device: str
) -> list[Candidate]:
    made = Alternatives(subject, folder, load_options, device)
    others = [made.of(name, given) for name, given in asked.against.items()]
    return [Candidate(subject.name, subject.function), *others]


def _types(subject: Subject, dtypes: Sequence[str] | None) -> list[dict[str, DType]]:
    """What type variables stand for: float32 where the signature allows it, or each type that was asked for."""
    every = subject.signature.instances()
    if dtypes is None:
        return sorted(every, key=lambda types: [each is not DType.F32 for each in types.values()])[:1]
    chosen = [
        types
        for name in dtypes
        for types in every
        if types and all(name in (t.value, t.torch_name) for t in types.values())
    ]
    if not chosen:
        listed = ", ".join(dict.fromkeys(each.torch_name for types in every for each in types.values())) or "no choice"
        raise ArgumentError(f"{subject.name}() has no element type {', '.join(dtypes)}; it has: {listed}")
    return chosen


def _sizes(setting: Setting, sizes: Mapping[str, int], asked: Request, report: Report, at: tuple[int, int]) -> None:
    """All phases at one choice of sizes."""
    subject = setting.subject
    sample = call_at(subject.signature, sizes, setting.types)
    shown = {
        **({LEADING: sample.binding.ellipsis[0]} if sample.binding.ellipsis else {}),
        **sample.binding.axes,
        **sizes,
    }
    tensors = Tensors(subject, sample, setting.machine.device)
    names = {name: dtype.torch_name for name, dtype in setting.types.items()}
    label = ", ".join(f"{name}={size}" for name, size in shown.items())
    candidates = _agreeing(setting, tensors, label, asked, report)
    for number, phase in enumerate(asked.phases):
        if asked.progress:
            asked.progress(f"{subject.name}, {phase}, {label}, {setting.device}", at[0] + number, at[1])
        point = Point(subject.name, phase, shown, names, setting.device, setting.threads, asked.cache)
        tasks = _tasks(candidates, tensors, phase, report)
        if subject.name in tasks and asked.visit is not None:
            asked.visit(point, tasks)
        elif subject.name in tasks:
            _point(setting, point, sample, tasks, candidates, asked, report)


def _agreeing(setting: Setting, tensors: Tensors, label: str, asked: Request, report: Report) -> list[Candidate]:
    """The candidates that compute what the operator computes."""
    ours, *others = setting.candidates
    kept = [ours]
    for other in others:
        here = other.at_a_point()
        try:
            said = disagreement(tensors, ours.function, here.function, asked.phases)
        except Exception as error:  # noqa: BLE001 - whatever an alternative raises, the others are measured
            said = f"it raised {type(error).__name__}: {error}"
        if said is None:
            kept.append(here)
        else:
            _note(report, f"{other.name}: not measured at {label or 'its only size'}: {said}")
    return kept


def _tasks(candidates: Sequence[Candidate], tensors: Tensors, phase: Phase, report: Report) -> dict[str, Task]:
    found = {each.name: _task(each.function, tensors, phase) for each in candidates}
    for name, task in found.items():
        if isinstance(task, str):
            _note(report, f"{name}: no {phase}: {task}")
    return {name: task for name, task in found.items() if isinstance(task, Task)}


def _task(function: Function, tensors: Tensors, phase: Phase) -> Task | str:
    """What to time, or why there is nothing."""
    try:
        return tensors.task(function, phase)
    except (TypeError, RuntimeError) as error:
        return str(error)


def _point(
    setting: Setting,
    point: Point,
    sample: Sample,
    tasks: Mapping[str, Task],
    candidates: Sequence[Candidate],
    asked: Request,
    report: Report,
) -> None:
    seconds_here = _SECONDS * len(tasks) if asked.seconds is None else asked.seconds
    samples = measure(tasks, setting.clock, Plan(seconds_here, asked.rounds, asked.confidence))
    made = {candidate.name: candidate for candidate in candidates}
    for name in tasks:
        _add(setting, point, sample, made[name], samples, asked, report)
    base = samples.rounds[setting.subject.name]
    for name in list(tasks)[1:]:
        ratio = ratios(samples.rounds[name], base, asked.confidence)
        report.comparisons.append(Comparison(point, name, setting.subject.name, ratio, verdict(ratio)))
    if not samples.steady:
        _note(report, f"{point.operator}, {point.phase}: still became faster after the warm-up")


def _add(
    setting: Setting,
    point: Point,
    sample: Sample,
    candidate: Candidate,
    samples: Samples,
    asked: Request,
    report: Report,
) -> None:
    """A measurement with its roofline."""
    took = samples.rounds[candidate.name]
    time = interval(took, asked.confidence)
    moved = traffic(setting.subject, sample.binding, point.phase) if asked.rooflines else None
    shown = None
    if moved is not None:
        operations = asked.operations.of(setting.subject.signature, sample.binding, point.phase)
        overhead = _overhead(setting, candidate, point)
        shown = roofline(time.median, moved, setting.machine, overhead, operations, _arithmetic(setting))
    calls = samples.calls[candidate.name]
    report.measurements.append(Measurement(point, candidate.name, time, tuple(took), outliers(took), calls, shown))


def _overhead(setting: Setting, candidate: Candidate, point: Point) -> float:
    """Seconds of the candidate's call that has next to nothing to do."""
    key = (candidate.name, point.phase)
    if key not in setting.overheads:
        setting.overheads[key] = 0.0
        least = least_call(setting.subject.signature, point.sizes, setting.types)
        if least is not None:
            tensors = Tensors(setting.subject, least, setting.machine.device)
            with contextlib.suppress(TypeError, RuntimeError):  # it may not take such sizes
                setting.overheads[key] = seconds(tensors.task(candidate.function, point.phase), setting.clock)
    return setting.overheads[key]


def _arithmetic(setting: Setting) -> torch.dtype:
    """The element type that kernels compute in: the halves as float."""
    floating = [each for each in setting.types.values() if each.is_floating]
    kind = floating[0] if floating else DType.F32
    chosen: torch.dtype = getattr(torch, kind.accumulate.torch_name)
    return chosen


def _note(report: Report, text: str) -> None:
    if text not in report.notes:
        report.notes.append(text)


def _noise(report: Report) -> None:
    """What makes a machine noisy."""
    busy = [each for each in report.comparisons if each.verdict == "too noisy"]
    if busy:
        _note(report, f"{len(busy)} of {len(report.comparisons)} comparisons are too noisy to conclude")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 + max((m.point.threads for m in report.measurements), default=1):
        _note(report, f"the load average is {load:.1f} on {cores} cores: other programs run")


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
