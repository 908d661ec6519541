"""What was measured: a timing for each candidate at each point, how they compare, and on what machine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Phase = Literal["forward", "backward", "both"]
Verdict = Literal["faster", "slower", "same", "too noisy"]


@dataclass(frozen=True)
class Point:
    """Where something is measured.

    Attributes:
        operator: the operator's name.
        phase: forward, backward, or both in one go.
        sizes: the length of each axis of the signature, by name; values that were given for scalars.
        dtypes: what each type variable stands for, as PyTorch names it: ``{"T": "float32"}``.
        device: ``"cpu"``, ``"cuda"`` or ``"emulated"``.
        threads: PyTorch's intra-op threads.
        cache: whether the processor's caches hold the arguments: ``"warm"``, or ``"cold"`` where they are flushed.
    """

    operator: str
    phase: Phase
    sizes: Mapping[str, int | float]
    dtypes: Mapping[str, str]
    device: str = "cpu"
    threads: int = 1
    cache: Literal["warm", "cold"] = "warm"


@dataclass(frozen=True)
class Interval:
    """A median and the bounds of its confidence interval; infinite ones where samples are too few for any."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Roofline:
    """How near a call comes to what the machine can do.

    Attributes:
        bytes: what one call has to move, from the signature.
        operations: floating-point operations of one call; None where nobody said.
        bandwidth: bytes a second that the call reached.
        copy_bandwidth: bytes a second of a copy as large, measured in the same run.
        peak: operations a second, measured in the same run; None where `operations` is.
        overhead: seconds of a call that has next to nothing to do.
        bound_by: what limits it.
        advice: which term to work on, in a sentence.
    """

    bytes: int
    operations: float | None
    bandwidth: float
    copy_bandwidth: float
    peak: float | None
    overhead: float
    bound_by: Literal["memory", "arithmetic", "call overhead", "neither"]
    advice: str


@dataclass(frozen=True)
class Measurement:
    """One candidate at one point.

    Attributes:
        point: where.
        candidate: its name: the operator's own, or the alternative's as it was given.
        time: seconds a call: the median of the samples and its confidence interval.
        samples: seconds a call, for each round, in order: outliers are among them.
        outliers: how many samples lie beyond the usual fences (1.5 interquartile ranges from the middle half).
        calls: how many calls one sample is the mean of.
        roofline: None where the traffic isn't known.
    """

    point: Point
    candidate: str
    time: Interval
    samples: tuple[float, ...]
    outliers: int
    calls: int
    roofline: Roofline | None = None


@dataclass(frozen=True)
class Comparison:
    """A candidate against the operator, at one point.

    Attributes:
        point: where.
        candidate, base: their names.
        ratio: time of the candidate over time of the base, paired round by round: above 1, the candidate is slower.
        verdict: of the candidate; ``"too noisy"`` where the machine doesn't let one tell.
    """

    point: Point
    candidate: str
    base: str
    ratio: Interval
    verdict: Verdict


@dataclass
class Report:
    """A whole run.

    Attributes:
        measurements: one for each candidate and point.
        comparisons: each alternative against the operator.
        confidence: of every interval: 0.99.
        machine: the facts that a figure depends on.
        notes: what could not be measured, and why; how noisy it was.
        crashes: calls that end the process, which were tried in a copy of it: they aren't measured.
        stopped: what ended the run early, where something did: then points are missing.
    """

    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    confidence: float = 0.99
    machine: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    stopped: str = ""

    def to_json(self) -> str:
        """Everything, as JSON; `read` takes it back."""
        return json.dumps(finite(asdict(self)), indent=2, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """The tables as Markdown."""
        from opwright.bench.table import markdown

        return markdown(self)

    def __str__(self) -> str:
        """The tables, and what is to be known of them, without colours."""
        from opwright.bench.table import plain

        return plain(self)

    @staticmethod
    def read(text: str) -> Report:
        """The report that `to_json` wrote.

        Raises:
            ValueError: it is no such report.
        """
        try:
            facts: dict[str, Any] = json.loads(text)
            return Report(
                [_measurement(each) for each in facts["measurements"]],
                [_comparison(each) for each in facts["comparisons"]],
                facts["confidence"],
                facts["machine"],
                facts["notes"],
                facts.get("crashes", []),
                facts.get("stopped", ""),
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"this is no report of opwright bench: {type(error).__name__}: {error}") from error


def finite(value: Any) -> Any:
    """The same with null for what is infinite, which JSON can't say."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _interval(facts: dict[str, Any]) -> Interval:
    high = facts["high"]
    return Interval(facts["median"], facts["low"], math.inf if high is None else high)


def _measurement(facts: dict[str, Any]) -> Measurement:
    roofline = facts["roofline"] and Roofline(**facts["roofline"])
    parts = {"point": Point(**facts["point"]), "time": _interval(facts["time"]), "roofline": roofline}
    return Measurement(**{**facts, **parts, "samples": tuple(facts["samples"])})


def _comparison(facts: dict[str, Any]) -> Comparison:
    return Comparison(**{**facts, "point": Point(**facts["point"]), "ratio": _interval(facts["ratio"])})
