"""What is compared with a reference: random operators, estimates, what is overwritten; and where it is no judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import opwright
from opwright.check.context import Context
from opwright.check.report import Finding
from opwright.check.targets import subjects


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0]


class Twice(Through):
    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return 2 * grads[0]


_ROUND: dict[str, Any] = {
    "signature": "r(x: T[...]) -> (y: T[...]) where T in (f64)", "only": ("estimated gradients",), "level": "quick",
    "straight_through": ("x",),
}  # fmt: skip


def test_an_estimate_is_compared_with_the_references() -> None:
    assert opwright.check(Through, Through.apply, **_ROUND).outcomes[0].status == "passed"
    (finding,) = opwright.check(Twice, Through.apply, **_ROUND).findings
    assert finding.kind == "wrong-estimate"
    assert finding.message.startswith("grad_x differs from the gradient of the reference: element [] is ")


def test_a_reference_without_that_gradient_is_none() -> None:
    (outcome,) = opwright.check(Through, torch.round, **_ROUND)
    assert outcome.status == "skipped"
    assert outcome.detail.startswith("the reference has no gradient, or it is zero")


_NOISE = (
    'OPWRIGHT("noisy(x: f64[N], p: float = 0.5, rng: generator(1)) -> (y: f64[N])")\n'
    "void noisy(Tensor<const double, 1> x, double p, Tensor<double, 1> y, Generator rng) {\n"
    "  for (int64_t i = 0; i < x.numel(); ++i) { Philox n = rng[%s]; y[i] = n.uniform() >= %s ? %s : 0; }\n}"
)


@pytest.mark.parametrize(
    ("where", "p", "value", "says"),
    [
        ("i", "p", "x[i]", ""),
        ("i", "p", "1.5 * x[i]", "the mean of element "),
        ("0", "p", "x[i]", "the mean product of neighbours of element "),
    ],
)
def test_a_random_operator_is_distributed_as_the_reference(
    write: Any, where: str, p: str, value: str, says: str
) -> None:
    def reference(x: Tensor, p: float) -> Tensor:
        return torch.where(torch.rand_like(x) >= p, x, 0.0)

    path = write(_NOISE % (where, p, value), f"noisy_{where}{len(value)}.cpp")
    report = opwright.check(path, reference, only=("distribution",), level="quick")
    assert [finding.kind for finding in report.findings] == ["wrong-distribution"] * bool(says)
    assert all(f"y: {says}" in finding.message for finding in report.findings)


def test_what_is_overwritten_is_compared() -> None:
    options: dict[str, Any] = {"signature": "a(y: T[N]!, x: T[N])", "only": ("agreement",), "level": "quick"}

    def add(y: Tensor, x: Tensor) -> None:
        y += x

    def twice(y: Tensor, x: Tensor) -> None:
        y += 2 * x

    assert opwright.check(add, add, **options).ok
    assert opwright.check(twice, add, **options).kinds == {"wrong-value"}


def test_overflow_halfway_and_cancellation_are_excused_and_a_jump_is_not() -> None:
    options: dict[str, Any] = {"only": ("agreement",), "level": "normal"}
    signature = "s(x: T[N], y: T[N]) -> (z: T[N]) where T in (f32)"
    assert opwright.check(lambda x, y: 3 * x - y, lambda x, y: 3 * x - y, signature=signature, **options).ok

    def backwards(x: Tensor) -> Tensor:
        return x.double().flip(0).sum().float()

    total = "t(x: T[N]) -> (z: T[]) where T in (f32)"
    for seed in (0, 7, 9, 13):  # of which three draw the largest number and its negative, with others between
        assert opwright.check(backwards, torch.sum, signature=total, seed=seed, **options).ok
    step = "u(x: T[N]) -> (z: T[N]) where T in (f32)"
    report = opwright.check(lambda x: (x > 1).float(), lambda x: (x >= 1).double(), signature=step, **options)
    assert report.kinds == {"wrong-value"}


@pytest.mark.parametrize(("share", "kinds"), [(1.0, set()), (0.999, {"wrong-element-type"})])
def test_what_cancels_is_excused_wherever_two_results_are_compared(share: float, kinds: set[str]) -> None:
    """The mean of equal numbers is that number, but for rounding; without it nothing is left of them."""

    def centred(x: Tensor) -> Tensor:
        factor = share if x.dtype == torch.float32 else 1.0
        return x - factor * (x / x.shape[-1]).sum(-1, keepdim=True)

    options: dict[str, Any] = {"only": ("agreement", "element types", "layouts"), "level": "quick"}
    signature = "c(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)"
    assert (
        opwright.check(centred, lambda x: x - x.mean(-1, keepdim=True), signature=signature, **options).kinds == kinds
    )


def one_by_one(x: Tensor, w: Tensor) -> Tensor:
    """numpy's cumulative sum rounds after each term."""
    products = np.append(np.zeros(1, str(x.dtype).removeprefix("torch.")), (x * w).numpy())
    return torch.tensor(np.cumsum(products)[-1])


_DOT: dict[str, Any] = {"signature": "d(x: T[N], w: T[N]) -> (s: T[]) where T in (f32, f64)"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [2, 4])
def test_a_sum_may_be_taken_one_by_one(seed: int) -> None:
    """Terms that are all the same are all rounded the same way; and infinity is met in another order."""
    report = opwright.check(
        one_by_one, lambda x, w: (x * w).sum(), only=("agreement",), level="normal", seed=seed, **_DOT
    )
    assert report.ok, report


def in_float64(x: Tensor, w: Tensor) -> Tensor:
    """Doesn't show where a sum in the operator's type overflows."""
    return (x.double() * w.double()).sum()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [12, 18, 20])
def test_a_sum_may_be_taken_one_by_one_beside_a_reference_in_float64(seed: int) -> None:
    """The largest float64 and its negative; minus infinity on the way to infinity; infinity on the way to a number."""
    options: dict[str, Any] = {"only": ("agreement",), "level": "quick", "seed": seed, **_DOT}
    report = opwright.check(one_by_one, in_float64, **options)
    assert report.ok, report
    assert not opwright.check(lambda x, w: 1.001 * one_by_one(x, w), in_float64, **options).ok


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mean_may_overflow_on_the_way() -> None:
    def mean(x: Tensor) -> Tensor:
        return one_by_one(x, torch.ones_like(x)) / x.numel()

    signature = "m(x: T[N]) -> (s: T[]) where T in (f32)"
    report = opwright.check(
        mean, lambda x: x.double().mean(), signature=signature, only=("agreement",), level="quick", seed=5
    )
    assert report.ok, report


@pytest.mark.parametrize("lacking", [lambda n: n % 2, lambda n: n // 100])
def test_a_sum_that_lacks_a_term_is_wrong(lacking: Callable[[int], int]) -> None:
    """The last one of an odd number; of many, a hundredth."""

    def wrong(x: Tensor, w: Tensor) -> Tensor:
        return (x * w)[: x.shape[0] - lacking(x.shape[0])].sum()

    assert not opwright.check(wrong, lambda x, w: (x * w).sum(), only=("agreement",), level="quick", **_DOT).ok


def test_a_search_ends_with_its_time() -> None:
    """What was found until then isn't made smaller any more."""
    (subject,) = subjects(torch.neg, signature="n(a: T[N]) -> (y: T[N])")
    context, tried = Context(subject, seconds=0.0), [0]

    def judge(*_: object) -> Finding:
        tried[0] += 1
        return Finding("wrong", "always")

    assert context.find(judge, sizes=(17, 5, 2)) is not None
    assert tried == [1]
