"""Measurement of one point: times all candidates in one phase, and compares them with the operator and the roofline."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from opwright.bench.clock import Clock
from opwright.bench.measure import Plan, Samples, measure
from opwright.bench.request import Request, smallest_call
from opwright.bench.results.measurement import Comparison, Measurement, Phase, Point, Roofline, describe_sizes
from opwright.bench.results.report import Report
from opwright.bench.roofline import Machine, roofline, seconds, traffic
from opwright.bench.screening import find_crash
from opwright.bench.statistics import outliers, ratios, times, verdict
from opwright.bench.tasks import Candidate, Task, Tensors
from opwright.check.calls.target_operator import TargetOperator
from opwright.signature import Binding, DType, operations

_SECONDS = 0.5
"""Time for each candidate, unless the request sets one."""


@dataclass(frozen=True)
class Setting:
    """The common settings of points that differ only in sizes and phases.

    Attributes:
        subject: the operator.
        types: element types of its type variables.
        device: ``"cpu"``, ``"cuda"`` or ``"emulated"``.
        threads: PyTorch's intra-op threads.
        candidates: the operator first.
        clock: the device's clock.
        machine: the machine's limits.
        silent: names of candidates that didn't return in a forked child.
        overheads: seconds of calls with almost no work, by candidate and phase; filled as they are measured.
    """

    subject: TargetOperator
    types: Mapping[str, DType]
    device: str
    threads: int
    candidates: Sequence[Candidate]
    clock: Clock
    machine: Machine
    silent: set[str] = field(default_factory=set)
    overheads: dict[tuple[str, Phase], float] = field(default_factory=dict)


@dataclass(frozen=True)
class PointMeasurement:
    """The measurement at a point.

    Attributes:
        setting: the settings that the point shares with others.
        point: its operator, phase, sizes and so on.
        binding: values of the signature's names.
        numbers: values of its axes and ints.
        request: the request, with time limits and so on.
    """

    setting: Setting
    point: Point
    binding: Binding
    numbers: Mapping[str, int]
    request: Request

    def measure(self, tasks: Mapping[str, Task], candidates: Mapping[str, Candidate], report: Report) -> None:
        """Time the tasks, the first of which is the operator's; add what was measured to the report.

        That is a measurement for each task, and for each other task a comparison with the operator.
        """
        request, base = self.request, self.setting.subject.name
        seconds = _SECONDS * len(tasks) if request.seconds is None else request.seconds
        samples = measure(tasks, self.setting.clock, Plan(seconds, request.rounds, request.confidence))
        measurements = [self._measurement(samples, candidates[name]) for name in tasks]
        comparisons = []
        for name in list(tasks)[1:]:
            ratio = ratios(samples.rounds[name], samples.rounds[base], request.confidence)
            comparisons.append(Comparison(self.point, name, base, ratio, verdict(ratio)))
        report.measurements += measurements  # all of a point at once, so that Ctrl-C never leaves half a point
        report.comparisons += comparisons
        self._note_noise(samples, report)

    def _note_noise(self, samples: Samples, report: Report) -> None:
        label = f"{self.point.operator}, {self.point.phase}, {describe_sizes(self.point.sizes)}"
        if not samples.steady:
            report.note(f"{label}: candidates still became faster, or seemed to, when the warm-up's time was over")
        if samples.interrupted:
            total = samples.interrupted + len(next(iter(samples.rounds.values())))
            report.note(
                f"{label}: {samples.interrupted} of {total} rounds were interrupted by other programs, and left out",
            )

    def _measurement(self, samples: Samples, candidate: Candidate) -> Measurement:
        took = samples.rounds[candidate.name]
        time = times(took, self.request.confidence)
        calls, bound = samples.calls[candidate.name], self._roofline(candidate, time.median)
        return Measurement(self.point, candidate.name, time, tuple(took), outliers(took), calls, bound)

    def _roofline(self, candidate: Candidate, took: float) -> Roofline | None:
        setting, signature = self.setting, self.setting.subject.signature
        moved_bytes = traffic(setting.subject, self.binding, self.point.phase) if self.request.rooflines else None
        if not moved_bytes:
            return None
        of_phase = ("forward", signature), ("backward", setting.subject.backward)
        said = {name: operations(each, self.binding, self.numbers) for name, each in of_phase if each}
        count = self.request.operations.count(signature, self.binding, self.point.phase, said)
        return roofline(
            took, moved_bytes, setting.machine, self._overhead(candidate), count, _arithmetic(setting.types)
        )

    def _overhead(self, candidate: Candidate) -> float:
        """Return the seconds of a call of the candidate with almost no work; 0 if there is no such call."""
        setting, known = self.setting, self.setting.overheads
        key = (candidate.name, self.point.phase)
        if key not in known:
            known[key] = 0.0
            smallest = smallest_call(setting.subject.signature, self.point.sizes, setting.types)
            if smallest is not None:
                tensors = Tensors(setting.subject, smallest, setting.machine.device)
                with contextlib.suppress(TypeError, RuntimeError):  # it may refuse such sizes, or even crash
                    if not find_crash(tensors, candidate, (self.point.phase,), setting.silent):
                        known[key] = seconds(tensors.task(candidate.function, self.point.phase), setting.clock)
        return known[key]


def _arithmetic(types: Mapping[str, DType]) -> torch.dtype:
    """Return the element type in which kernels compute: float32 for float16 and bfloat16."""
    stored = next((dtype for dtype in types.values() if dtype.is_floating), DType.F32)
    computed: torch.dtype = getattr(torch, stored.accumulate.torch_name)
    return computed
