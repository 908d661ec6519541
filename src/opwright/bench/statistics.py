"""What samples of a shared, drifting machine allow one to conclude.

Samples that follow each other are alike: a neighbour's program, or a change of the clock's frequency, lasts for many of
them. An interval that takes them for independent is too narrow. So blocks of rounds are drawn instead of rounds (the
circular block bootstrap), as long as the samples are alike (Politis and White, "Automatic block-length selection for
the dependent bootstrap", Econometric Reviews 23, 2004; correction by Patton, Politis and White, 28, 2009). What a
median depends on is only which samples lie above it, so that is the series whose likeness counts.

A bootstrap of few samples is too sure of itself. No interval is narrower than the one that their ranks allow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import torch

from opwright.bench.report import Interval, Verdict

MARGIN = 0.01
"""Differences below 1 % are none: where two builds of the same code lie in memory makes as much
(Mytkowicz et al., "Producing wrong data without doing anything obviously wrong", ASPLOS 2009)."""
SAME = 0.02
"""The ratio of times that are the same is, with certainty, no farther from 1."""
_RESAMPLES = 1000
_FENCE = 1.5
_LEAST = 6
"""Fewer samples than these say nothing of how alike neighbours are."""


@dataclass(frozen=True)
class Likeness:
    """How alike samples are that follow each other.

    Attributes:
        block: how many in a row a block of the bootstrap needs; 1 where they aren't alike.
        inflation: how many times as large as that of independent samples the variance of their median is.
    """

    block: int = 1
    inflation: float = 1.0


def interval(samples: Sequence[float], confidence: float = 0.99) -> Interval:
    """The median and its confidence interval: of a circular block bootstrap and of the samples' ranks, the wider.

    Args:
        samples: in the order in which they were taken.
        confidence: how sure: 0.99.
    """
    alike = likeness(samples)
    ranked = by_rank(samples, confidence, alike)
    if len(samples) < _LEAST:
        return ranked
    values = torch.tensor(samples, dtype=torch.float64)
    tail = (1 - confidence) / 2
    tails = torch.tensor([tail, 1 - tail], dtype=torch.float64)
    low, high = _resampled(values, alike.block).quantile(tails).tolist()
    return Interval(ranked.median, min(low, ranked.low), max(high, ranked.high))


def by_rank(samples: Sequence[float], confidence: float, alike: Likeness | None = None) -> Interval:
    """The samples between which the median lies: as sure as that no more heads or tails come in as many throws.

    Its bounds are infinite where there are too few samples to be so sure.
    """
    ordered, count = sorted(samples), len(samples)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    inflation = (alike or likeness(samples)).inflation
    reach = _quantile(confidence, count / inflation) * math.sqrt(count * inflation) / 2
    below = math.floor(count / 2 - reach) - 1
    if below < 0:
        return Interval(middle, -math.inf, math.inf)
    return Interval(middle, ordered[below], ordered[count - 1 - below])


def _quantile(confidence: float, count: float) -> float:
    """Student's t for a two-sided interval (Abramowitz and Stegun, 26.7.5)."""
    z, freedom = NormalDist().inv_cdf((1 + confidence) / 2), max(count - 1, 1)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _resampled(values: torch.Tensor, block: int) -> torch.Tensor:
    """The medians of series that were put together of blocks of this one, its end followed by its beginning."""
    count = len(values)
    generator = torch.Generator().manual_seed(0)
    starts = torch.randint(count, (_RESAMPLES, math.ceil(count / block)), generator=generator)
    places = (starts.unsqueeze(-1) + torch.arange(block)).flatten(1)[:, : count - 1 + count % 2] % count
    return values[places].median(dim=1).values


def likeness(samples: Sequence[float]) -> Likeness:
    """How alike neighbours are."""
    values = torch.tensor(samples, dtype=torch.float64)
    count = len(values)
    above = (values > values.median()).to(torch.float64)
    above -= above.mean()
    if count < _LEAST or not bool(above.any()):
        return Likeness()
    products = _autocovariance(above, min(count // 2, 5 * math.ceil(math.sqrt(count))))
    least = _of_first(float(products[1] / products[0]), count)
    lags = 2 * _last_alike(products / products[0], count)
    if lags == 0:
        return Likeness(1, least)
    lag = torch.arange(1, min(lags, len(products) - 1) + 1, dtype=torch.float64)
    kept = torch.clamp(2 * (1 - lag / lags), 0, 1) * products[1 : len(lag) + 1]  # the flat-top window
    spectrum = float(products[0] + 2 * kept.sum())
    if spectrum <= float(products[0]):  # neighbours are unlike: independent ones are the careful assumption
        return Likeness(1, least)
    best = (1.5 * (2 * float((lag * kept).sum()) / spectrum) ** 2 * count) ** (1 / 3)
    most = min(3 * math.sqrt(count), count / 3)
    return Likeness(max(1, math.ceil(min(best, most))), max(spectrum / float(products[0]), least))


def _of_first(correlation: float, count: int) -> float:
    """The inflation by a process of first order, its correlation a standard error larger than was found."""
    careful = min(max(correlation + 1 / math.sqrt(count), 0.0), 0.99)
    return (1 + careful) / (1 - careful)


def _autocovariance(values: torch.Tensor, lags: int) -> torch.Tensor:
    count = len(values)
    return torch.stack([values[: count - lag] @ values[lag:] / count for lag in range(lags + 1)])


def _last_alike(correlation: torch.Tensor, count: int) -> int:
    """The lag after which several correlations in a row are no more than chance."""
    quiet = max(5, math.ceil(math.sqrt(math.log10(count))))
    bound = 2 * math.sqrt(math.log10(count) / count)
    small = [abs(each) < bound for each in correlation[1:].tolist()]
    return next((lag for lag in range(len(small)) if all(small[lag : lag + quiet])), len(small))


def ratios(one: Sequence[float], other: Sequence[float], confidence: float = 0.99) -> Interval:
    """The median of ``one / other``, round by round, so that what slows both cancels out."""
    return _exponential(interval(_logarithms(one, other), confidence))


def times(samples: Sequence[float], confidence: float = 0.99) -> Interval:
    """The median of seconds; its bounds are 0 and infinite where there are too few."""
    return ratios(samples, [1.0] * len(samples), confidence)


def enough(confidence: float) -> int:
    """The fewest rounds that can bound a median."""
    return next(
        count for count in itertools.count(2) if math.isfinite(by_rank(range(count), confidence, _few(count)).low)
    )


def _few(count: int) -> Likeness:
    return Likeness(1, _of_first(0.0, count))


def _logarithms(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [math.log(a / b) for a, b in zip(one, other, strict=True)]


def _exponential(found: Interval) -> Interval:
    return Interval(math.exp(found.median), math.exp(found.low), math.exp(found.high))


def decided(one: Sequence[float], other: Sequence[float], confidence: float = 0.99) -> bool:
    """Whether the ratio's interval is so narrow that it leads to a verdict wherever it lies.

    To stop when it happens to exclude 1 would favour finding differences that aren't there.
    """
    ratio = _exponential(by_rank(_logarithms(one, other), confidence))
    return ratio.high - ratio.low < (SAME - MARGIN) * ratio.median


def verdict(ratio: Interval, margin: float = MARGIN, same: float = SAME) -> Verdict:
    """What a ratio's interval says: slower or faster by more than `margin`; the same within `same`; or nothing."""
    if ratio.low > 1 + margin:
        return "slower"
    if ratio.high < 1 / (1 + margin):
        return "faster"
    return "same" if 1 / (1 + same) < ratio.low and ratio.high < 1 + same else "too noisy"


def outliers(samples: Sequence[float]) -> int:
    """How many lie more than 1.5 interquartile ranges beyond the middle half (Tukey's fences)."""
    values = torch.tensor(samples, dtype=torch.float64)
    low, high = values.quantile(torch.tensor([0.25, 0.75], dtype=torch.float64)).tolist()
    reach = _FENCE * (high - low)
    return int(((values < low - reach) | (values > high + reach)).sum())
