"""Backwards that are only wrong, or random, for calls that are too large for a Jacobian."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from opwright.check import Report, check
from opwright.check.gradients.directional import directional_derivatives, draw_directions, project
from opwright.check.gradients.point import Point
from tests.check.checks.test_gradients import function

VECTOR = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
ROWS = "f(x: T[B, K]) -> (y: T[B]) where T in (f32, f64)"
SINGLE = "f(x: T[N]) -> (y: T[N]) where T in (f32)"


def checked(op: Any, signature: str, only: str = "large gradients", **options: Any) -> Report:
    return check(op, signature=signature, only=(only,), level="quick", **options)


def without_tail(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """As a loop by vectors of 8 that forgets what is left behind the first one."""
    made = g[:, None].expand(x.shape).clone()
    if x.shape[1] > 8:
        made[:, x.shape[1] // 8 * 8 :] = 0
    return made


def last_of_thousands(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    made = g * (x > 0)
    if x.numel() > 1000:
        made[-1] = 2 * g[-1] + 1e-3
    return made


WRONG: dict[str, tuple[Any, str, str]] = {
    "tail": (function(lambda x: x.sum(1), without_tail), ROWS, " is 0, numerically "),
    "large": (
        function(lambda x: 2 * x, lambda g, x, y: g * (2 if g.numel() <= 1000 else 3)),
        VECTOR,
        "(ratio 1.5), for incoming gradients drawn at random\n  only where N is 1031 or more",
    ),
    "one element behind kinks": (function(torch.relu, last_of_thousands), VECTOR, "grad_x["),
    "in float32": (
        function(lambda x: 2 * x, lambda g, x, y: g * (2 if g.numel() <= 32 else 3)), SINGLE, "(ratio 1.5"
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive) if n == "in float32" else n for n in WRONG]
)
def test_a_gradient_that_is_wrong_when_large(name: str) -> None:
    op, signature, text = WRONG[name]
    small = check(op, signature=signature, only=("gradcheck",), level="quick")
    assert small.ok, f"there would be no need of another check: {small}"
    (finding,) = checked(op, signature).findings
    assert (finding.kind, text in finding.message) == ("wrong-gradient", True), finding.message
    assert "torch.autograd.gradcheck(f, inputs, " in finding.reproducer
    assert ", fast_mode=True)" in finding.reproducer


def test_a_reference_tells_how_many_elements_are_wrong() -> None:
    op, signature, _ = WRONG["tail"]
    (finding,) = checked(op, signature, reference=lambda x: x.sum(1)).findings
    assert "of 289 elements differ from the gradient of the reference" in finding.message


RIGHT: dict[str, tuple[Callable[..., Any], str]] = {
    "a kink": (torch.relu, VECTOR),
    "a reduction": (lambda x: x.abs().sum(1), ROWS),
    "kinks in a reduction": (lambda x: x.amax(1), ROWS),
    "a sort, and equal numbers": (lambda x: x.sort(-1).values, VECTOR),
    "NaN": (torch.sqrt, VECTOR),
    "a pole": (torch.reciprocal, VECTOR),
    "float32": (torch.sigmoid, SINGLE),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_gradient_passes(name: str) -> None:
    op, signature = RIGHT[name]
    (outcome,) = checked(op, signature, reference=op)
    assert (outcome.status, "derivatives along directions" in outcome.detail) == ("passed", True), outcome


def test_a_reference_whose_gradient_is_wrong_is_no_judge() -> None:
    twice = function(lambda x: 2 * x, lambda g, x, y: 3 * g).apply
    (outcome,) = checked(lambda x: 2 * x, VECTOR, reference=twice)
    assert outcome.status == "passed", outcome
    assert "where the reference's gradient differs" in outcome.detail


def test_what_is_no_derivative_on_purpose_is_skipped() -> None:
    through = function(torch.round, lambda g, x, y: g)
    assert checked(through, VECTOR).kinds == {"wrong-gradient"}
    (outcome,) = checked(through, VECTOR, straight_through=("x",))
    assert (outcome.status, outcome.detail) == ("skipped", "no gradient is meant to be the derivative")


COUNT = itertools.count()


def in_turn(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return g * (2 + (g.numel() > 1000) * 1e-6 * next(COUNT))


def by_threads(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return g * (2 if torch.get_num_threads() == 1 else 2.5)


def rounded(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return 2 * g * (1 + torch.finfo(g.dtype).eps * (next(COUNT) % 2))


@pytest.mark.parametrize(
    ("backward", "kinds"),
    [
        (in_turn, ["nondeterministic-gradient"]),
        (by_threads, ["gradient-depends-on-threads"]),
        pytest.param(rounded, [], marks=pytest.mark.exhaustive),
    ],
)
def test_the_same_backward_gives_the_same(backward: Callable[..., Tensor], kinds: Sequence[str]) -> None:
    report = checked(function(lambda x: 2 * x, backward), VECTOR, "gradient determinism")
    assert [finding.kind for finding in report.findings] == kinds, str(report)
    assert all("print(torch.autograd.grad(made, inputs, grads" in each.reproducer for each in report.findings)
    if not kinds:
        assert "bits differed, as another order of a sum does" in report.outcomes[0].detail


def test_slopes_are_derivatives_along_a_direction() -> None:
    x = torch.linspace(-1, 1, 100, dtype=torch.float64)
    point = Point(lambda given: (given["x"].exp(), given["x"].relu()), {"x": x}, ("y", "z"))
    for direction in draw_directions(point, ["x"], seed=0):
        found, moved = directional_derivatives(point, direction), direction["x"]
        assert torch.allclose(found["y"].values, x.exp() * moved, rtol=1e-9, atol=1e-12)
        assert bool(found["y"].smooth.all())
        vectors = {"y": torch.ones_like(x), "z": torch.zeros_like(x)}
        assert not project({"x": x.exp()}, vectors, direction, found, point.precision).wrong
        assert project({"x": x.exp() * 1.0001}, vectors, direction, found, point.precision).wrong


def test_there_is_no_slope_at_a_kink() -> None:
    x = torch.tensor([-0.5, 0.0, 1e-5, 0.5], dtype=torch.float64)
    point = Point(lambda given: (given["x"].relu(),), {"x": x}, ("y",))
    assert directional_derivatives(point, {"x": torch.ones_like(x)})["y"].smooth.tolist() == [True, False, False, True]
