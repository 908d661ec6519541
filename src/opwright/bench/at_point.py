"""One point: all candidates' phase is timed, compared, and held against what the machine can do."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from opwright.bench.axes import least_call
from opwright.bench.calls import Candidate, Task, Tensors
from opwright.bench.measure import Plan, Samples, measure
from opwright.bench.report import Comparison, Measurement, Point, Report, Roofline
from opwright.bench.roofline import roofline, seconds, traffic
from opwright.bench.setting import Request, Setting, note, sizes_label
from opwright.bench.statistics import outliers, ratios, times, verdict
from opwright.bench.survival import fatal
from opwright.signature import Binding, DType

_SECONDS = 0.5
"""For each candidate."""


@dataclass(frozen=True)
class AtPoint:
    """A point and its call.

    Attributes:
        setting: what it has in common with others.
        point: where.
        binding: what the signature's names stand for.
        asked: what for.
    """

    setting: Setting
    point: Point
    binding: Binding
    asked: Request

    def measured(self, tasks: Mapping[str, Task], candidates: Mapping[str, Candidate], report: Report) -> None:
        """Time the tasks, the operator's first, and put what is found into the report."""
        asked, base = self.asked, self.setting.subject.name
        given = _SECONDS * len(tasks) if asked.seconds is None else asked.seconds
        samples = measure(tasks, self.setting.clock, Plan(given, asked.rounds, asked.confidence))
        measured = [self._measurement(samples, candidates[name]) for name in tasks]
        compared = []
        for name in list(tasks)[1:]:
            ratio = ratios(samples.rounds[name], samples.rounds[base], asked.confidence)
            compared.append(Comparison(self.point, name, base, ratio, verdict(ratio)))
        report.measurements += measured  # all of a point at once: Ctrl-C leaves no half of one
        report.comparisons += compared
        self._told(samples, report)

    def _told(self, samples: Samples, report: Report) -> None:
        """How noisy it was."""
        label = f"{self.point.operator}, {self.point.phase}, {sizes_label(self.point.sizes)}"
        if not samples.steady:
            note(report, f"{label}: candidates still became faster, or seemed to, when the warm-up's time was over")
        if samples.interrupted:
            total = samples.interrupted + len(next(iter(samples.rounds.values())))
            note(
                report,
                f"{label}: {samples.interrupted} of {total} rounds were interrupted by other programs, and left out",
            )

    def _measurement(self, samples: Samples, candidate: Candidate) -> Measurement:
        took = samples.rounds[candidate.name]
        time = times(took, self.asked.confidence)
        calls, bound = samples.calls[candidate.name], self._roofline(candidate, time.median)
        return Measurement(self.point, candidate.name, time, tuple(took), outliers(took), calls, bound)

    def _roofline(self, candidate: Candidate, took: float) -> Roofline | None:
        setting, signature = self.setting, self.setting.subject.signature
        moved = traffic(setting.subject, self.binding, self.point.phase) if self.asked.rooflines else None
        if not moved:
            return None
        operations = self.asked.operations.of(signature, self.binding, self.point.phase)
        return roofline(took, moved, setting.machine, self._overhead(candidate), operations, _arithmetic(setting.types))

    def _overhead(self, candidate: Candidate) -> float:
        """Seconds of the candidate's call that has next to nothing to do; 0 where there is none."""
        setting, known = self.setting, self.setting.overheads
        key = (candidate.name, self.point.phase)
        if key not in known:
            known[key] = 0.0
            least = least_call(setting.subject.signature, self.point.sizes, setting.types)
            if least is not None:
                tensors = Tensors(setting.subject, least, setting.machine.device)
                with contextlib.suppress(TypeError, RuntimeError):  # it may not take such sizes, or even die of them
                    if not fatal(tensors, candidate, (self.point.phase,), setting.silent):
                        known[key] = seconds(tensors.task(candidate.function, self.point.phase), setting.clock)
        return known[key]


def _arithmetic(types: Mapping[str, DType]) -> torch.dtype:
    """The element type that kernels compute in: the halves as float."""
    floating = [each for each in types.values() if each.is_floating]
    kind = floating[0] if floating else DType.F32
    chosen: torch.dtype = getattr(torch, kind.accumulate.torch_name)
    return chosen
