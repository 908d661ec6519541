"""Reports that were never measured: every number in them is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from opwright.bench.results.measurement import Comparison, Interval, Measurement, Point, Roofline, Verdict
from opwright.bench.results.report import Report

MakeReport = Callable[..., Report]


def around(middle: float, by: float = 0.02) -> Interval:
    return Interval(middle, middle * (1 - by), middle * (1 + by))


@pytest.fixture
def make_report() -> MakeReport:
    """A report of ``op``, which takes a microsecond for each of N elements, and of others, that take other times."""

    def made(
        sizes: Iterable[int] = (1, 4, 16, 64),
        factors: dict[str, float] | None = None,
        phases: Iterable[str] = ("forward", "backward"),
        *,
        scale: float = 1.0,
        by: float = 0.02,
        **point: object,
    ) -> Report:
        factors = {"torch.exp(x)": 2.0, "compile:torch.exp(x)": 0.5} if factors is None else factors
        report = Report(machine={"cpu": "a [fast] processor", "load": "0.1"}, notes=["one note"])
        for phase, size in itertools.product(phases, sizes):
            where = Point("op", phase, {"N": size, "M": 3}, {"T": "float32"}, **point)  # type: ignore[arg-type]
            for name, factor in {"op": 1.0, **factors}.items():
                time = 1e-6 * size * factor * scale
                samples = tuple(time * (1 + 0.001 * (k % 5 - 2)) for k in range(40))
                roofline = Roofline(8 * size, None, 8 * size / time, 1.6e7, None, 1e-7, "memory", "move fewer bytes")
                report.measurements.append(Measurement(where, name, around(time, by), samples, 1, 10, roofline))
                if name != "op":
                    verdict: Verdict = "slower" if factor > 1 else "faster"
                    report.comparisons.append(Comparison(where, name, "op", around(factor), verdict))
        return report

    return made
