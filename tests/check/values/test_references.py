"""What is compared with a reference: random operators, estimates, what is overwritten; and where it is no judge."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import opwright
from opwright.check.calls.settings import using_threads
from opwright.check.context import Context
from opwright.check.report import Finding
from opwright.check.targets import find_operators
from opwright.check.values.comparison import compare_with_excuses
from opwright.check.values.conditioning import excuse_ill_conditioned, excuse_overflow
from opwright.check.values.ulp import worst_difference


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def mean(x: Tensor) -> Tensor:
    """Summed one by one, and rounded after each term."""
    return torch.tensor(np.cumsum(x.numpy())[-1]) / x.numel()


def variance(x: Tensor) -> Tensor:
    return mean((x - mean(x)) ** 2)


def normed(x: Tensor) -> Tensor:
    return (x - mean(x)) / torch.sqrt(variance(x) + 1e-5)


@pytest.mark.parametrize(
    ("function", "wrong", "kinds"),
    [
        (variance, variance, set()),
        (normed, normed, set()),
        (lambda x: x.exp() / mean(x.exp()), lambda x: x.exp() / mean(x.exp()), set()),
        (lambda x: x * 2, lambda x: x * 2.01, {"wrong-value"}),
        (lambda x: (x > x[0]).to(x.dtype), lambda x: (x >= x[0]).to(x.dtype), {"wrong-value"}),
    ],
)
@pytest.mark.parametrize("number", [0.1, 0.3, -0.7])
def test_equal_numbers_may_be_summed_one_by_one(
    function: Callable[[Tensor], Tensor], wrong: Callable[[Tensor], Tensor], kinds: set[str], number: float
) -> None:
    """All are rounded the same way; a jump, or a factor, is wrong for those, too."""
    (operator,) = find_operators(wrong, signature="v(x: T[...]) -> (y: T[...])")
    x = torch.tensor(number).expand(8209)
    got, expected = (wrong(x),), (function(x.double()),)
    finding = compare_with_excuses(
        Context(operator), got, expected, "it", {"x": x}, lambda moved: (function(moved["x"]),)
    )
    assert {finding.kind if finding else ""} - {""} == kinds


@pytest.mark.parametrize(("number", "excused"), [(1e300, True), (float("inf"), False)])
def test_a_reference_that_overflows_itself_is_no_judge_of_signs(number: float, excused: bool) -> None:
    """It can't widen float64 any more; where nothing overflows, it judges."""
    (operator,) = find_operators(torch.square, reference=lambda x: -(x * x), signature="v(x: T[N]) -> (y: T[N])")
    x = torch.full((2,), number, dtype=torch.float64)
    got, expected = (torch.square(x),), operator.reference_results({"x": x}) or ()
    assert torch.equal(excuse_overflow(operator, {"x": x}, got, expected)[0], got[0]) is excused


def test_what_is_divided_by_an_overflow_is_not_compared() -> None:
    """In float32 the reference's own square is infinite, and its quotient zero."""
    (operator,) = find_operators(torch.neg, reference=lambda x: x / (x * x).sqrt(), signature="v(x: T[N]) -> (y: T[N])")
    x, got = torch.tensor([1e30, 1.0]), (torch.tensor([float("nan"), float("nan")]),)
    expected = excuse_overflow(operator, {"x": x}, got, operator.reference_results({"x": x}) or ())[0]
    assert torch.equal(expected.isnan(), torch.tensor([True, False]))


def test_what_indices_collect_may_be_rounded_to_its_own_type_each_time() -> None:
    def refer(given: dict[str, Any]) -> list[Tensor]:
        return [given["x"].double().sum().reshape(1)]

    def judged(x: Tensor, got: Tensor) -> bool:
        arguments = {"at": torch.zeros(len(x), dtype=torch.int64), "x": x}
        (expected,) = excuse_ill_conditioned(refer, arguments, [got], refer(arguments))
        return worst_difference(got, expected) is None

    for seed in range(20):
        x = (torch.rand(33, generator=torch.Generator().manual_seed(seed)) * 2 - 1).half()
        got = torch.zeros(1).half()
        for one in x:
            got += one
        assert judged(x, got), seed
    assert not judged(torch.tensor([0.5, 0.25]).half(), torch.tensor([0.5]).half())  # a term is missing


def test_what_a_reference_refuses_isnt_compared() -> None:
    """The others are; what it refuses altogether is said, once."""

    def refusing(x: Tensor) -> Tensor:
        if not x.numel():
            raise ValueError("nothing\nat all")
        return 2 * x

    options: dict[str, Any] = {"signature": "t(x: T[N]) -> (y: T[N])", "only": ("agreement",), "level": "quick"}
    (outcome,) = opwright.check(lambda x: 2 * x, refusing, **options)
    assert outcome.status == "passed"
    assert re.search(r" of them the reference raised, the first time: .* raised ValueError: nothing$", outcome.detail)
    assert opwright.check(lambda x: 3 * x, refusing, **options).kinds == {"wrong-value"}


@pytest.mark.slow
def test_a_warning_is_shown_once() -> None:
    def warning(x: Tensor) -> Tensor:
        warnings.warn("too old", UserWarning, stacklevel=1)
        return 2 * x

    with pytest.warns(UserWarning, match="too old") as caught:
        opwright.check(lambda x: 2 * x, warning, signature="t(x: T[N]) -> (y: T[N])", only=("values",), level="quick")
    assert len([each for each in caught if "too old" in str(each.message)]) == 1


def test_how_far_off_zero_is_a_number() -> None:
    found = worst_difference(torch.tensor([0.25, 0.0]), torch.zeros(2, dtype=torch.float64))
    assert str(found) == "element [0] is 0.25, expected 0 (0.25 off); 1 of 2 elements are wrong"
    assert "ulp off" in str(worst_difference(torch.tensor([1.01]), torch.ones(1, dtype=torch.float64)))


def test_a_search_ends_with_its_time() -> None:
    """What was found until then isn't made smaller any more."""
    (operator,) = find_operators(torch.neg, signature="n(a: T[N]) -> (y: T[N])")
    context, tried = Context(operator, seconds=0.0), [0]

    def judge(*_: object) -> Finding:
        tried[0] += 1
        return Finding("wrong", "always")

    with using_threads(1):  # with several, a finding is looked at once more, with one thread
        assert context.find(judge, sizes=(17, 5, 2)) is not None
    assert tried == [1]
