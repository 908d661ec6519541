"""The roofline of a call: compares it with the machine's limits, and finds the term to improve.

The model is the roofline model (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model",
CACM 52, 2009), with the overhead of a call as a third bound. Each bound is measured in the same run as the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

from opwright.bench.clock import Clock
from opwright.bench.results.measurement import Phase, Roofline, format_seconds
from opwright.bench.tasks import Task
from opwright.check.calls.target_operator import TargetOperator
from opwright.signature import Binding, bytes_by_tensor

_LIMITING = 0.5
"""Minimum share of a call's time for a term to count as its limit."""
_SAMPLES = 9
_LONG = 2e-3
_PRODUCT = 1024
_IMPOSSIBLE = 1.25
"""Maximum plausible ratio: a call can't move its bytes faster than a copy, nor take less time than a call with no
work."""
_TRIES = 3
_SMALL = 64
"""Bytes of a copy whose time is all overhead."""


@dataclass
class Machine:
    """The machine's limits, each measured when it is first needed.

    Attributes:
        clock: the device's clock.
        device: the device of tensors, as PyTorch names it.
    """

    clock: Clock
    device: str
    _known: dict[object, float] = field(default_factory=dict)

    def copy_bandwidth(self, size: int) -> float:
        """Return the bytes per second of a copy that reads and writes `size` bytes in all, without its overhead."""
        count = max(_SMALL, size // 2)
        return 2 * count / max(self._copy(count) - self._copy(_SMALL) * (count > _SMALL), 1e-9)

    def measure_copies_again(self) -> None:
        """Measure all copies again, because other programs may have run, and keep the shorter times."""
        for count, before in [(count, took) for count, took in self._known.items() if isinstance(count, int)]:
            del self._known[count]
            self._known[count] = min(before, self._copy(count))

    def peak(self, dtype: torch.dtype) -> float:
        """Return the floating-point operations per second of a matrix product of that element type."""
        if ("peak", dtype) not in self._known:
            a, b = (torch.ones(_PRODUCT, _PRODUCT, dtype=dtype, device=self.device) for _ in range(2))
            out = torch.empty_like(a)
            took = seconds(Task(lambda: torch.mm(a, b, out=out)), self.clock)
            self._known["peak", dtype] = 2 * _PRODUCT**3 / took
        return self._known["peak", dtype]

    def _copy(self, count: int) -> float:
        if count not in self._known:
            source, target = (torch.zeros(count, dtype=torch.uint8, device=self.device) for _ in range(2))
            self._known[count] = seconds(Task(lambda: target.copy_(source)), self.clock)
        return self._known[count]


def seconds(task: Task, clock: Clock) -> float:
    """Return the median of a few samples, which is exact to about two digits."""
    once = max(clock.sample(task, 1), clock.sample(task, 1), 1e-8)
    count = max(1, min(1000, int(_LONG / _SAMPLES / once) + 1))
    return sorted(clock.sample(task, count) for _ in range(_SAMPLES))[_SAMPLES // 2]


def traffic(subject: TargetOperator, binding: Binding, phase: Phase) -> dict[str, int] | None:
    """Return the bytes that a phase has to move, by tensor; None for a backward without a signature."""
    forward = bytes_by_tensor(subject.signature, binding, with_residuals=phase != "forward")
    if phase == "forward":
        return forward
    if subject.backward is None:
        return None
    backward = bytes_by_tensor(subject.backward, binding)
    if phase == "backward":
        return backward
    return {name: forward.get(name, 0) + backward.get(name, 0) for name in {**forward, **backward}}


def roofline(
    took: float,
    moved: Mapping[str, int],
    machine: Machine,
    overhead: float,
    operations: float | None,
    dtype: torch.dtype,
) -> Roofline:
    """Find the limiting factor of a call.

    Args:
        took: seconds of the call.
        moved: bytes that it has to move, by tensor.
        machine: the machine's limits.
        overhead: seconds of a call with almost no work.
        operations: number of operations; None if unknown.
        dtype: the element type of the operations.
    """
    total = sum(moved.values())
    copy = _copy_bandwidth(total, took, machine)
    peak = None if operations is None else machine.peak(dtype)
    shares = {"memory": total / copy / took, "call overhead": overhead / took}
    if operations is not None and peak is not None:
        shares["arithmetic"] = operations / peak / took
    largest = max(shares, key=shares.__getitem__)
    bound: Literal["memory", "arithmetic", "call overhead", "neither"] = "neither"
    if max(shares["memory"], shares["call overhead"]) > _IMPOSSIBLE:
        advice = _contradiction(total, copy, overhead, took)
        return Roofline(total, operations, total / took, copy, peak, overhead, bound, advice)
    if shares[largest] >= _LIMITING:
        bound = "memory" if largest == "memory" else "arithmetic" if largest == "arithmetic" else "call overhead"
    advice = _advice(bound, shares, moved, overhead, took)
    return Roofline(total, operations, total / took, copy, peak, overhead, bound, advice)


def _copy_bandwidth(total: int, took: float, machine: Machine) -> float:
    """Return the copy's bandwidth; copies are measured again if the call seems to be faster."""
    for _ in range(_TRIES):
        if total / machine.copy_bandwidth(total) <= _IMPOSSIBLE * took:
            break
        machine.measure_copies_again()
    return machine.copy_bandwidth(total)


def _contradiction(total: int, copy: float, overhead: float, took: float) -> str:
    """Return a sentence saying that the measurements contradict each other, and how."""
    return (
        f"a copy of its bytes took {format_seconds(total / copy)}, a call that has next to nothing to do "
        f"{format_seconds(overhead)}, and this one {format_seconds(took)}: other programs run, so that what binds it "
        "can't be told"
    )


def _advice(bound: str, shares: Mapping[str, float], moved: Mapping[str, int], overhead: float, took: float) -> str:
    """Say what limits the operator, with its shares of the limits, and what would make it faster."""
    if bound == "memory":
        return (
            f"it moves its bytes at {_percent(shares['memory'])} of a copy's bandwidth; {_largest_tensors(moved)}: "
            "fewer bytes (a smaller element type, fused neighbours) are what makes it faster"
        )
    if bound == "call overhead":
        return (
            f"a call that has next to nothing to do takes {format_seconds(overhead)}, this one {format_seconds(took)}: "
            "more work in each call (a larger batch, fused neighbours) is what makes it faster, or CUDA graphs on a GPU"
        )
    if bound == "arithmetic":
        return f"it computes at {_percent(shares['arithmetic'])} of the measured peak: fewer operations make it faster"
    parts = f"bytes take {_percent(shares['memory'])} of its time and the call {_percent(shares['call overhead'])}"
    if "arithmetic" in shares:
        return (
            f"{parts}, operations {_percent(shares['arithmetic'])}: none of them binds it; look at vectorisation, "
            "threads, and the order in which memory is read (opwright info says which loops are vectorised)"
        )
    return (
        f"{parts}: what is left is the kernel's arithmetic or its waiting; look at vectorisation and threads "
        "(opwright info says which loops are vectorised), and say how many operations a call has"
    )


def _largest_tensors(moved: Mapping[str, int]) -> str:
    """Name the tensors with most of the traffic."""
    total = max(sum(moved.values()), 1)
    ordered: Sequence[tuple[str, int]] = sorted(moved.items(), key=lambda each: -each[1])
    most = ordered[0][1]
    named = [name for name, size in ordered if size >= 0.9 * most and size > 0]
    if len(named) > 3 or not named:
        return "no tensor stands out"
    share = sum(moved[name] for name in named) / total
    return f"{' and '.join(named)} {'are' if len(named) > 1 else 'is'} {_percent(share)} of the bytes"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
