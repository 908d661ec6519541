"""Confidence intervals of medians and ratios, for samples from a shared, drifting machine.

Successive samples are correlated: another program, or a change of the clock frequency, affects many of them. An
interval that assumes independent samples is too narrow. Therefore the bootstrap draws blocks of rounds (circular block
bootstrap), with a block length estimated from the correlation (Politis and White, "Automatic block-length selection for
the dependent bootstrap", Econometric Reviews 23, 2004; correction by Patton, Politis and White, 28, 2009). A median
depends only on which samples are above it, so the correlation of that series is used.

A bootstrap of few samples gives intervals that are too narrow, so no interval is narrower than that of the ranks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, quantiles

import torch

from opwright.bench.results.measurement import Interval, Verdict

MARGIN = 0.01
"""Differences below 1 % don't count: the memory addresses of two builds of the same code cause as much (Mytkowicz et
al., "Producing wrong data without doing anything obviously wrong", ASPLOS 2009)."""
SAME = 0.02
"""Two times are the same if the whole interval of their ratio is this close to 1."""
_RESAMPLES = 1000
_FENCE = 1.5
_LEAST = 6
"""Minimum number of samples for estimating a correlation."""


@dataclass(frozen=True)
class Correlation:
    """The correlation of successive samples.

    Attributes:
        block: length of a block of the bootstrap; 1 if they aren't correlated.
        inflation: ratio of the variance of their median to that of independent samples.
    """

    block: int = 1
    inflation: float = 1.0


def interval(samples: Sequence[float], confidence: float = 0.99) -> Interval:
    """Return the median and its interval: by a circular block bootstrap or by the samples' ranks, whichever is wider.

    Args:
        samples: in the order in which they were taken.
        confidence: confidence level of the interval.
    """
    correlated = correlation(samples)
    ranked = by_rank(samples, confidence, correlated)
    if len(samples) < _LEAST:
        return ranked
    values = torch.tensor(samples, dtype=torch.float64)
    tail = (1 - confidence) / 2
    tails = torch.tensor([tail, 1 - tail], dtype=torch.float64)
    low, high = _resampled_medians(values, correlated.block).quantile(tails).tolist()
    return Interval(ranked.median, min(low, ranked.low), max(high, ranked.high))


def by_rank(samples: Sequence[float], confidence: float, correlated: Correlation | None = None) -> Interval:
    """Return the median and the samples that bound it, by the binomial distribution of ranks.

    The bounds are infinite if there are too few samples for this confidence.
    """
    ordered, count = sorted(samples), len(samples)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    inflation = (correlated or correlation(samples)).inflation
    reach = _quantile(confidence, count / inflation) * math.sqrt(count * inflation) / 2
    below = math.floor(count / 2 - reach) - 1
    if below < 0:
        return Interval(middle, -math.inf, math.inf)
    return Interval(middle, ordered[below], ordered[count - 1 - below])


def _quantile(confidence: float, count: float) -> float:
    """Return Student's t for a two-sided interval (Abramowitz and Stegun, 26.7.5)."""
    z, freedom = NormalDist().inv_cdf((1 + confidence) / 2), max(count - 1, 1)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _resampled_medians(values: torch.Tensor, block: int) -> torch.Tensor:
    """Return the medians of series that consist of blocks of this one, wrapped around at its end."""
    count = len(values)
    generator = torch.Generator().manual_seed(0)
    starts = torch.randint(count, (_RESAMPLES, math.ceil(count / block)), generator=generator)
    places = (starts.unsqueeze(-1) + torch.arange(block)).flatten(1)[:, : count - 1 + count % 2] % count
    return values[places].median(dim=1).values


def correlation(samples: Sequence[float]) -> Correlation:
    """Estimate the correlation of successive samples."""
    values = torch.tensor(samples, dtype=torch.float64)
    count = len(values)
    above = (values > values.median()).to(torch.float64)
    above -= above.mean()
    if count < _LEAST or not bool(above.any()):
        return Correlation()
    products = _autocovariance(above, min(count // 2, 5 * math.ceil(math.sqrt(count))))
    least = _first_order_inflation(float(products[1] / products[0]), count)
    lags = 2 * _last_correlated_lag(products / products[0], count)
    if lags == 0:
        return Correlation(1, least)
    lag = torch.arange(1, min(lags, len(products) - 1) + 1, dtype=torch.float64)
    kept = torch.clamp(2 * (1 - lag / lags), 0, 1) * products[1 : len(lag) + 1]  # the flat-top window
    spectrum = float(products[0] + 2 * kept.sum())
    if spectrum <= float(products[0]):  # negative correlation: independence is the conservative assumption
        return Correlation(1, least)
    best = (1.5 * (2 * float((lag * kept).sum()) / spectrum) ** 2 * count) ** (1 / 3)
    most = min(3 * math.sqrt(count), count / 3)
    return Correlation(max(1, math.ceil(min(best, most))), max(spectrum / float(products[0]), least))


def _first_order_inflation(lag_one: float, count: int) -> float:
    """Return the inflation for a first-order process whose correlation is a standard error above `lag_one`."""
    careful = min(max(lag_one + 1 / math.sqrt(count), 0.0), 0.99)
    return (1 + careful) / (1 - careful)


def _autocovariance(values: torch.Tensor, lags: int) -> torch.Tensor:
    count = len(values)
    return torch.stack([values[: count - lag] @ values[lag:] / count for lag in range(lags + 1)])


def _last_correlated_lag(correlations: torch.Tensor, count: int) -> int:
    """Return the lag after which several successive correlations are within the range of chance."""
    quiet = max(5, math.ceil(math.sqrt(math.log10(count))))
    bound = 2 * math.sqrt(math.log10(count) / count)
    small = [abs(each) < bound for each in correlations[1:].tolist()]
    return next((lag for lag in range(len(small)) if all(small[lag : lag + quiet])), len(small))


def ratios(one: Sequence[float], other: Sequence[float], confidence: float = 0.99) -> Interval:
    """Return the median of ``one / other``, round by round, so that slowdowns of both cancel."""
    return _exponential(interval(_logarithms(one, other), confidence))


def times(samples: Sequence[float], confidence: float = 0.99) -> Interval:
    """Return the median of seconds; its bounds are 0 and infinite if there are too few samples."""
    return ratios(samples, [1.0] * len(samples), confidence)


def fewest_rounds(confidence: float) -> int:
    """Return the smallest number of rounds that can bound a median."""
    independent = ((count, Correlation(1, _first_order_inflation(0.0, count))) for count in itertools.count(2))
    return next(count for count, each in independent if by_rank(range(count), confidence, each).is_bounded)


def _logarithms(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [math.log(a / b) for a, b in zip(one, other, strict=True)]


def _exponential(logarithm: Interval) -> Interval:
    return Interval(math.exp(logarithm.median), math.exp(logarithm.low), math.exp(logarithm.high))


def is_precise(one: Sequence[float], other: Sequence[float], confidence: float = 0.99) -> bool:
    """Return whether the ratio's interval is so narrow that it leads to a verdict at any position.

    Stopping as soon as the interval excludes 1 would favour differences that don't exist.
    """
    ratio = _exponential(by_rank(_logarithms(one, other), confidence))
    return ratio.high - ratio.low < (SAME - MARGIN) * ratio.median


def verdict(ratio: Interval, margin: float = MARGIN, same: float = SAME) -> Verdict:
    """Judge a ratio by its interval: slower or faster by more than `margin`, the same within `same`, or too noisy."""
    if ratio.low > 1 + margin:
        return "slower"
    if ratio.high < 1 / (1 + margin):
        return "faster"
    return "same" if 1 / (1 + same) < ratio.low and ratio.high < 1 + same else "too noisy"


def outliers(samples: Sequence[float]) -> int:
    """Count samples more than 1.5 interquartile ranges beyond the middle half (Tukey's fences)."""
    if len(samples) < 2:
        return 0
    low, _, high = quantiles(samples, n=4, method="inclusive")
    reach = _FENCE * (high - low)
    return sum(not low - reach <= sample <= high + reach for sample in samples)
