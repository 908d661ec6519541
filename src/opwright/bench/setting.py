"""What was asked for, and what the points of one operator have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from opwright.bench.axes import Size
from opwright.bench.calls import Candidate, Task
from opwright.bench.clock import Clock
from opwright.bench.operations import Operations
from opwright.bench.refusal import RequestError
from opwright.bench.report import Phase, Point, Report
from opwright.bench.roofline import Machine
from opwright.check.subject import Subject
from opwright.signature import DType, Signature

Progress = Callable[[str, int, int], None]
"""Called with what is measured next, how many points are done, and how many there are."""


@dataclass(frozen=True)
class Request:
    """What was asked for; see `opwright.bench`."""

    axes: Mapping[str, Sequence[Size] | Size]
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
    """Points that differ in their sizes and phases only, with what they have in common.

    Attributes:
        subject: the operator.
        types: what its type variables stand for.
        device: ``"cpu"``, ``"cuda"`` or ``"emulated"``.
        threads: PyTorch's intra-op threads.
        candidates: the operator first.
        clock: the device's.
        machine: what it can do.
        silent: names of candidates that give no answer in a copy of the process.
        overheads: seconds of calls that have next to nothing to do, by candidate and phase, as they become known.
    """

    subject: Subject
    types: Mapping[str, DType]
    device: str
    threads: int
    candidates: Sequence[Candidate]
    clock: Clock
    machine: Machine
    silent: set[str] = field(default_factory=set)
    overheads: dict[tuple[str, Phase], float] = field(default_factory=dict)


def type_choices(sig: Signature, dtypes: Sequence[str] | None) -> list[dict[str, DType]]:
    """What type variables stand for: each type that was asked for, where a variable allows it; otherwise float32.

    Raises:
        RequestError: no variable allows a type that was asked for.
    """
    usual = {name: _usual(sig.allowed(name)) for name in sig.type_variables}
    if dtypes is None:
        return [usual]
    return [{**usual, **_chosen(sig, name)} for name in dtypes]


def _usual(allowed: Sequence[DType]) -> DType:
    return DType.F32 if DType.F32 in allowed else allowed[0]


def _chosen(sig: Signature, name: str) -> dict[str, DType]:
    found = {
        variable: dtype
        for variable in sig.type_variables
        for dtype in sig.allowed(variable)
        if name in (dtype.value, dtype.torch_name)
    }
    if not found:
        allowed = dict.fromkeys(each.torch_name for variable in sig.type_variables for each in sig.allowed(variable))
        raise RequestError(
            f"{sig.name}() has no element type {name}; it has: {', '.join(allowed) or 'no choice'}\n"
            f"  signature:    {sig.as_written}"
        )
    return found


def sizes_label(sizes: Mapping[str, float]) -> str:
    """Sizes in a line."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def note(report: Report, text: str) -> None:
    """Say something once."""
    if text not in report.notes:
        report.notes.append(text)
