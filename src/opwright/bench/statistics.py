"""What samples of a shared, drifting machine allow one to conclude.

Samples that follow each other are alike: a neighbour's program, a change of the clock's frequency last for many of
them. An interval that takes them for independent is too narrow. So blocks of rounds are drawn instead of rounds (the
circular block bootstrap), as long as the samples are alike (Politis and White, "Automatic block-length selection for
the dependent bootstrap", Econometric Reviews 23, 2004; correction by Patton, Politis and White, 28, 2009). What a
median depends on is only which samples lie above it, so that is the series whose likeness counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from opwright.bench.report import Interval, Verdict

MARGIN = 0.01
"""Differences below 1 % are none: where two builds of the same code lie in memory makes as much
(Mytkowicz et al., "Producing wrong data without doing anything obviously wrong", ASPLOS 2009)."""
SAME = 0.02
"""What a ratio of the same time may not be farther from 1 than, with certainty."""
_RESAMPLES = 2000
_FENCE = 1.5


def interval(samples: Sequence[float], confidence: float = 0.99) -> Interval:
    """The median and its confidence interval, by the percentiles of a circular block bootstrap.

    Args:
        samples: in the order in which they were taken.
        confidence: how sure: 0.99.
    """
    values = torch.tensor(samples, dtype=torch.float64)
    middle = float(values.median()) if len(values) % 2 else float(values.quantile(0.5))
    if len(values) < 2:
        return Interval(middle, -math.inf, math.inf)
    medians = _resampled(values, block_length(samples))
    tail = (1 - confidence) / 2
    low, high = medians.quantile(torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return Interval(middle, min(low, middle), max(high, middle))


def _resampled(values: torch.Tensor, block: int) -> torch.Tensor:
    """The medians of series that were put together of blocks of this one, its end followed by its beginning."""
    count = len(values)
    generator = torch.Generator().manual_seed(0)
    starts = torch.randint(count, (_RESAMPLES, math.ceil(count / block)), generator=generator)
    places = (starts.unsqueeze(-1) + torch.arange(block)).flatten(1)[:, :count] % count
    ordered = values[places].sort(dim=1).values
    return (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2


def block_length(samples: Sequence[float]) -> int:
    """How many samples that follow each other a block needs: 1 where they aren't alike."""
    values = torch.tensor(samples, dtype=torch.float64)
    count = len(values)
    above = (values > values.median()).to(torch.float64)
    above -= above.mean()
    if count < 8 or not bool(above.any()):
        return 1
    likeness = _autocovariance(above, min(count // 2, 10 * math.ceil(math.sqrt(count))))
    lags = 2 * _last_alike(likeness / likeness[0], count)
    if lags == 0:
        return 1
    lag = torch.arange(1, min(lags, len(likeness) - 1) + 1, dtype=torch.float64)
    weight = torch.clamp(2 * (1 - lag / lags), 0, 1)  # the flat-top window
    kept = weight * likeness[1 : len(lag) + 1]
    spectrum = float(likeness[0] + 2 * kept.sum())
    slope = float(2 * (lag * kept).sum())
    if spectrum <= 0:
        return 1
    best = (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * count ** (1 / 3)
    return max(1, min(math.ceil(best), math.ceil(min(3 * math.sqrt(count), count / 3))))


def _autocovariance(values: torch.Tensor, lags: int) -> torch.Tensor:
    count = len(values)
    return torch.stack([(values[: count - lag] * values[lag:]).sum() / count for lag in range(lags + 1)])


def _last_alike(correlation: torch.Tensor, count: int) -> int:
    """The lag after which several correlations in a row are no more than chance."""
    quiet = max(5, math.ceil(math.sqrt(math.log10(count))))
    bound = 2 * math.sqrt(math.log10(count) / count)
    small = [abs(each) < bound for each in correlation[1:].tolist()]
    for lag in range(len(small) - quiet + 1):
        if all(small[lag : lag + quiet]):
            return lag
    return len(small)


def verdict(ratio: Interval, margin: float = MARGIN, same: float = SAME) -> Verdict:
    """What a ratio's interval says: slower or faster by more than `margin`; the same within `same`; or nothing."""
    if ratio.low > 1 + margin:
        return "slower"
    if ratio.high < 1 / (1 + margin):
        return "faster"
    return "same" if 1 / (1 + same) < ratio.low and ratio.high < 1 + same else "too noisy"


def decided(ratio: Interval, margin: float = MARGIN, same: float = SAME) -> bool:
    """Whether the interval is so narrow that it leads to a verdict wherever it lies.

    To stop when it happens to exclude 1 would favour finding differences that aren't there.
    """
    return ratio.high - ratio.low < (same - margin) * ratio.median


def ratios(one: Sequence[float], other: Sequence[float], confidence: float = 0.99) -> Interval:
    """The median of ``one / other``, round by round, so that what slows both cancels out."""
    found = interval([math.log(a / b) for a, b in zip(one, other, strict=True)], confidence)
    return Interval(math.exp(found.median), math.exp(found.low), math.exp(found.high))


def outliers(samples: Sequence[float]) -> int:
    """How many lie more than 1.5 interquartile ranges beyond the middle half (Tukey's fences)."""
    values = torch.tensor(samples, dtype=torch.float64)
    low, high = values.quantile(torch.tensor([0.25, 0.75], dtype=torch.float64)).tolist()
    reach = _FENCE * (high - low)
    return int(((values < low - reach) | (values > high + reach)).sum())
