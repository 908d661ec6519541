"""The report of a run and its machine: as JSON, tables and Markdown."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from opwright.bench.results.measurement import Comparison, Interval, Measurement, Point, Roofline


@dataclass
class Report:
    """The results of a run.

    Attributes:
        measurements: one for each candidate and point.
        comparisons: each alternative compared with the operator.
        confidence: confidence level of every interval.
        machine: facts about the machine that times depend on.
        notes: measurements that failed, with the reason; and remarks on noise.
        crashes: calls that end the process, which were tried in a forked child; they aren't measured.
        stopped: why the run ended early, so that points are missing; else empty.
    """

    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    confidence: float = 0.99
    machine: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    stopped: str = ""

    def note(self, text: str) -> None:
        """Add a note, unless the report already has it."""
        if text not in self.notes:
            self.notes.append(text)

    def to_json(self) -> str:
        """Return everything as JSON, in the form that `read` parses."""
        return json.dumps(finite(asdict(self)), indent=2, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Return the tables as Markdown."""
        from opwright.bench.results.tables import report_markdown

        return report_markdown(self)

    def __str__(self) -> str:
        """Return the tables and the remarks as text, without colours."""
        from opwright.bench.results.tables import report_text

        return report_text(self)

    @staticmethod
    def read(text: str) -> Report:
        """Parse a report that `to_json` wrote.

        Raises:
            ValueError: the text isn't such a report.
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
    """Replace infinite numbers and NaN, which JSON can't represent, by None."""
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
