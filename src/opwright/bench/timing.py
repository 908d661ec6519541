"""Times callables in turn, so that a machine whose speed drifts is equally unkind to all of them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_FIRST = 10


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the median over the rounds, the middle half of them, and every round's."""

    median: float
    low: float
    high: float
    samples: tuple[float, ...]


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 21,
    seconds: float = 0.02,
    warmup: int = 3,
    before: Callable[[], object] | None = None,
    finish: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Time every candidate in each round, beginning with another one each time.

    Args:
        candidates: what to call, by name.
        rounds: how many samples each one gets.
        seconds: how long one sample takes, by as many calls as that needs.
        warmup: rounds that don't count.
        before: called before each call, outside of its time.
        finish: called after the calls of a sample, within its time: waits for what they began, as of a GPU.
    """
    names = list(candidates)
    around = _Around(before, finish)
    counts = {name: _calls_in(candidates[name], seconds, around) for name in names}
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(warmup + rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            took = _sample(candidates[name], counts[name], around)
            if turn >= warmup:
                samples[name].append(took)
    return {name: summary(took) for name, took in samples.items()}


def summary(samples: list[float]) -> Timing:
    """The median and the quartiles of at least two samples."""
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(middle, low, high, tuple(samples))


def ratio(one: Timing, other: Timing) -> float:
    """The median of ``one / other``, round by round: of two that were timed in turn, so that drift cancels out."""
    return statistics.median(a / b for a, b in zip(one.samples, other.samples, strict=True))


def _nothing() -> None:
    pass


class _Around(NamedTuple):
    """What is done around calls (see `interleaved`)."""

    before: Callable[[], object] | None
    finish: Callable[[], object] | None


def _calls_in(call: Callable[[], object], seconds: float, around: _Around) -> int:
    for _ in range(_FIRST):  # compile, allocate, start threads: none of it tells what a call takes
        call()
    count = 1
    while (took := _sample(call, count, around) * count) < seconds / 2:
        count = max(count * 2, int(count * seconds / max(took, 1e-9) / 2))
    return max(1, round(count * seconds / took))


def _sample(call: Callable[[], object], count: int, around: _Around) -> float:
    """Seconds a call, over `count` of them, the garbage collector waiting outside as in ``timeit``."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _timed(call, count, around)
    finally:
        if collecting:
            gc.enable()


def _timed(call: Callable[[], object], count: int, around: _Around) -> float:
    """Seconds a call; with `before`, each call is timed by itself."""
    finish = around.finish or _nothing
    finish()
    if around.before is None:
        started = time.perf_counter()
        for _ in range(count):
            call()
        finish()
        return (time.perf_counter() - started) / count
    took = 0.0
    for _ in range(count):
        around.before()
        finish()
        started = time.perf_counter()
        call()
        finish()
        took += time.perf_counter() - started
    return took / count
