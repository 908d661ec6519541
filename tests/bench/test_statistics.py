"""Intervals against simulations whose truth is known, and verdicts."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from opwright.bench.results.measurement import Interval
from opwright.bench.statistics import (
    _quantile,
    by_rank,
    correlation,
    fewest_rounds,
    interval,
    is_precise,
    outliers,
    ratios,
    times,
    verdict,
)


def process(count: int, alike: float, rng: random.Random) -> list[float]:
    """Normal samples of which each is `alike` times the one before, plus noise; their median is 0."""
    value, found = rng.gauss(0, 1), []
    for _ in range(count):
        value = alike * value + math.sqrt(1 - alike**2) * rng.gauss(0, 1)
        found.append(value)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("count", "alike", "allowed"), [(25, 0.0, 2), (100, 0.0, 2), (100, 0.6, 3), (200, 0.8, 3)])
def test_an_interval_holds_the_median_as_often_as_it_says(count: int, alike: float, allowed: int) -> None:
    rng = random.Random(7)
    missed = 0
    for _ in range(40):
        found = interval(process(count, alike, rng))
        missed += not found.low <= 0 <= found.high
    assert missed <= allowed  # of 40 at 99 %


def test_outliers_on_one_side_move_no_interval() -> None:
    rng = random.Random(3)
    samples = [1.0 + rng.gauss(0, 0.01) + (rng.random() < 0.1) * 50 for _ in range(200)]
    found = interval(samples)
    assert 0.99 < found.low < 1 < found.high < 1.01


def test_more_samples_narrow_it_and_alike_ones_widen_it() -> None:
    rng = random.Random(5)
    few, many = interval(process(50, 0, rng)), interval(process(500, 0, rng))
    assert many.high - many.low < (few.high - few.low) / 2
    alike = process(500, 0.9, rng)
    shuffled = list(alike)
    rng.shuffle(shuffled)
    assert correlation(alike).block > 3 * correlation(shuffled).block
    assert correlation(alike).inflation > 3 * correlation(shuffled).inflation
    one, other = interval(alike), interval(shuffled)
    assert one.high - one.low > 1.5 * (other.high - other.low)


def test_a_correlation_of_first_order_is_what_theory_says() -> None:
    """The indicator of normal samples with correlation r has the correlation 2/pi arcsin(r)."""
    alike = 0.7
    correlations = [2 / math.pi * math.asin(alike**lag) for lag in range(1, 200)]
    truth = 1 + 2 * sum(correlations)
    found = correlation(process(4_000, alike, random.Random(11))).inflation
    assert found == pytest.approx(truth, rel=0.3)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_few_samples_bound_nothing(count: int) -> None:
    samples = [1.0 + 0.01 * k for k in range(count)]
    assert interval(samples).low == -math.inf
    assert (times(samples).low, times(samples).high) == (0.0, math.inf)
    assert verdict(ratios(samples, samples)) == "too noisy"


def test_how_many_are_fewest_rounds() -> None:
    assert fewest_rounds(0.9) < fewest_rounds(0.99) < fewest_rounds(0.999)
    samples = process(fewest_rounds(0.99), 0, random.Random(2))
    assert math.isinf(by_rank(samples[:5], 0.99).low)
    assert not math.isinf(by_rank(sorted(samples, key=lambda each: hash(str(each))), 0.5).low)


@pytest.mark.parametrize(("count", "t"), [(10, 3.250), (30, 2.756), (121, 2.617), (100_000, 2.576)])
def test_students_t_is_that_of_the_tables(count: int, t: float) -> None:
    assert _quantile(0.99, count) == pytest.approx(t, rel=7e-3)


def test_a_drift_that_slows_both_cancels_out() -> None:
    rng = random.Random(1)
    base = [1e-4 * (1 + 9 * k / 200) * (1 + rng.gauss(0, 0.02)) for k in range(200)]
    slower = [1.05 * each * (1 + rng.gauss(0, 0.02)) for each in base]
    found = ratios(slower, base)
    assert 1.03 < found.low < 1.05 < found.high < 1.07
    assert verdict(found) == "slower"
    assert verdict(ratios(base, slower)) == "faster"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.995, 1.005, "same"),
        (0.985, 1.015, "same"),
        (1.005, 1.015, "same"),
        (1.011, 1.019, "slower"),
        (1.5, 9.0, "slower"),
        (0.975, 0.985, "faster"),
        (0.2, 0.5, "faster"),
        (0.97, 1.015, "too noisy"),
        (1.005, 1.5, "too noisy"),
        (0.0, math.inf, "too noisy"),
    ],
)
def test_verdicts(low: float, high: float, said: str) -> None:
    assert verdict(Interval((low + high) / 2, low, high)) == said


def test_an_interval_that_is_is_precise_has_a_verdict_wherever_it_lies() -> None:
    for k in range(100):
        middle = 0.95 + 0.001 * k
        assert verdict(Interval(middle, middle * 0.9951, middle * 1.0049)) != "too noisy"
    rng = random.Random(4)
    quiet = [1 + rng.gauss(0, 0.001) for _ in range(60)]
    loud = [1 + rng.gauss(0, 0.2) for _ in range(60)]
    ones = [1.0] * 60
    assert is_precise(quiet, ones)
    assert not is_precise(loud, ones)


def test_outliers_are_counted_as_tukey_did() -> None:
    samples = [*np.random.default_rng(0).normal(size=200).tolist(), 9.0, -9.0, 8.0]
    low, high = np.percentile(samples, [25, 75])
    reach = 1.5 * (high - low)
    expected = sum(each < low - reach or each > high + reach for each in samples)
    assert outliers(samples) == expected >= 3
