"""Traffic, operations, what binds a call, and the sentence that says so."""

from __future__ import annotations

import math

import pytest
import torch

from opwright.bench.clock import CpuClock
from opwright.bench.request import Operations
from opwright.bench.roofline import Machine, roofline, traffic
from opwright.bench.tasks import Task
from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, parse

LLTM = parse("lltm(x: T[B, I], w: T[3*S, I+S], old: T[B, S]) -> (h: T[B, S]; gates: T[B, 3*S])")
BACKWARD = parse(
    "lltm_backward(grad_h: T[B, S], w: T[3*S, I+S], gates: T[B, 3*S]) -> (grad_x: T[B, I], grad_w: T[3*S, I+S])"
)
BINDING = Binding({"B": 2, "I": 3, "S": 5}, None, {"T": DType.F64})
SUBJECT = TargetOperator("lltm", LLTM, torch.neg, backward=BACKWARD, ours=True)


class Fixed(Machine):
    """A machine of round numbers: 1 GB/s, 1 GFLOP/s."""

    def __init__(self) -> None:
        super().__init__(CpuClock(), "cpu")

    def copy_bandwidth(self, size: int) -> float:
        return 1e9

    def peak(self, dtype: torch.dtype) -> float:
        return 1e9


def test_bytes_of_each_phase_by_hand() -> None:
    forward = traffic(SUBJECT, BINDING, "forward")
    assert forward == {"x": 8 * 6, "w": 8 * 120, "old": 8 * 10, "h": 8 * 10}
    backward = traffic(SUBJECT, BINDING, "backward")
    assert backward == {"grad_h": 80, "w": 960, "gates": 240, "grad_x": 48, "grad_w": 960}
    both = traffic(SUBJECT, BINDING, "both")
    assert both == {**backward, "x": 48, "old": 80, "h": 80, "w": 2 * 960, "gates": 2 * 240}


def test_bytes_of_a_backward_that_nobody_described() -> None:
    foreign = TargetOperator("lltm", LLTM, torch.neg)
    assert traffic(foreign, BINDING, "forward") is not None
    assert traffic(foreign, BINDING, "backward") is None


class Disturbed(Fixed):
    """A copy is a hundred times slower until it is measured often enough."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def copy_bandwidth(self, size: int) -> float:
        return 1e7 if self.left > 0 else 1e9

    def measure_copies_again(self) -> None:
        self.left -= 1


@pytest.mark.parametrize(("times", "bound"), [(2, "memory"), (100, "neither")])
def test_a_copy_that_seems_slower_than_the_call_is_measured_again(times: int, bound: str) -> None:
    found = roofline(1.25e-3, MOVED, Disturbed(times), 1e-6, None, torch.float32)
    assert found.bound_by == bound
    assert ("what binds it can't be told" in found.advice) is (bound == "neither")


def test_the_best_of_several_copies_is_kept() -> None:
    class Told(CpuClock):
        """Says what a sample takes."""

        took = 4e-3

        def sample(self, task: Task, calls: int) -> float:
            return self.took

    clock = Told()
    machine = Machine(clock, "cpu")
    seen = []
    for clock.took in (4e-3, 1e-3, 2e-3):
        machine.measure_copies_again()
        seen.append(machine._copy(1 << 15))
    assert seen == [4e-3, 1e-3, 1e-3]


MOVED = {"x": 100_000, "w": 850_000, "y": 50_000}


def test_bound_by_memory_and_by_which_tensor() -> None:
    found = roofline(1.25e-3, MOVED, Fixed(), 1e-6, None, torch.float32)
    assert (found.bound_by, found.bytes, found.bandwidth) == ("memory", 1_000_000, 8e8)
    assert found.advice == (
        "it moves its bytes at 80 % of a copy's bandwidth; w is 85 % of the bytes: fewer bytes (a smaller element "
        "type, fused neighbours) are what makes it faster"
    )
    even = roofline(1.25e-3, {"x": 500_000, "y": 500_000}, Fixed(), 1e-6, None, torch.float32)
    assert "x and y are 100 % of the bytes" in even.advice
    many = roofline(1e-3, dict.fromkeys("abcd", 250000), Fixed(), 1e-6, None, torch.float32)
    assert "no tensor stands out" in many.advice


def test_bound_by_the_call() -> None:
    found = roofline(4e-6, {"x": 400, "y": 400}, Fixed(), 3e-6, None, torch.float32)
    assert found.bound_by == "call overhead"
    assert found.advice.startswith(
        "a call that has next to nothing to do takes 3.00 µs, this one 4.00 µs: more work in each"
    )


def test_bound_by_arithmetic_where_operations_are_known() -> None:
    found = roofline(1e-2, MOVED, Fixed(), 1e-6, 9e6, torch.float32)
    assert (found.bound_by, found.peak) == ("arithmetic", 1e9)
    assert found.advice == "it computes at 90 % of the measured peak: fewer operations make it faster"


def test_bound_by_none_of_them() -> None:
    unknown = roofline(1e-2, MOVED, Fixed(), 1e-6, None, torch.float32)
    assert unknown.bound_by == "neither"
    assert unknown.advice.startswith("bytes take 10 % of its time and the call 0 %: what is left is the kernel's")
    assert "say how many operations" in unknown.advice
    known = roofline(1e-2, MOVED, Fixed(), 1e-6, 1e6, torch.float32)
    assert (known.bound_by, known.operations) == ("neither", 1e6)
    assert "operations 10 %: none of them binds it" in known.advice


def test_what_the_machine_can_do_is_measured_once() -> None:
    counted: list[int] = []

    class Counting(CpuClock):
        def sample(self, task: Task, count: int) -> float:
            counted.append(count)
            return super().sample(task, count)

    machine = Machine(Counting(), "cpu")
    first = machine.copy_bandwidth(1 << 20)
    samples = len(counted)
    assert machine.copy_bandwidth(1 << 20) == first > 1e6
    assert machine.peak(torch.float32) == machine.peak(torch.float32) > 1e6
    assert samples < len(counted) <= 2 * samples


def test_operations_over_the_axes() -> None:
    given = Operations.parse({"forward": "2*B*(I+S)*3*S", "backward": lambda **axes: math.prod(axes.values())})
    assert given.count(LLTM, BINDING, "forward") == 2 * 2 * 8 * 15
    assert given.count(LLTM, BINDING, "backward") == 30
    assert given.count(LLTM, BINDING, "both") == 480 + 30
    assert Operations.parse(7.0).count(LLTM, BINDING, "forward") == 7.0
    assert Operations.parse(7.0).count(LLTM, BINDING, "both") is None
    pointwise = Binding({}, (3, 4), {"T": DType.F32})
    assert Operations.parse("numel**2 / 2").count(parse("f(x: T) -> (y: T)"), pointwise, "forward") == 72


def test_operations_that_signatures_say() -> None:
    said = {"forward": 100, "backward": 200}
    assert [Operations().count(LLTM, BINDING, phase, said) for phase in ("forward", "backward", "both")] == [
        100,
        200,
        300,
    ]
    assert Operations.parse({"forward": "B"}).count(LLTM, BINDING, "both", said) == 2 + 200
    assert Operations().count(LLTM, BINDING, "both", {"forward": 100}) is None


@pytest.mark.parametrize("text", ["2*N", "B(", "B if I else S", "__import__('os')", "'B'", "B.real", "-B"])
def test_what_is_no_number_of_operations(text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Operations.parse(text).count(LLTM, BINDING, "forward")
    assert str(caught.value) == (
        f"operations={text!r} isn't an expression over the axes of lltm(): B, I, S\n"
        "  expected:     axes, numbers, + - * / // ** and parentheses, as in '2*B*S'"
    )
    with pytest.raises(ArgumentError, match="operations of 'both': expected 'forward', 'backward'"):
        Operations.parse({"both": "1"})
