"""Times candidates in turn: many short rounds, each there and back (A B C C B A), until the ratios are known."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from opwright.bench.calls import Task
from opwright.bench.clock import Clock
from opwright.bench.statistics import decided, ratios

_SAMPLE = 4e-4
"""Seconds of one sample: short, so that both of a pair meet the same machine and few are interrupted."""
_LEAST_ROUNDS = 30
_MOST_ROUNDS = 1500
_CHECK_EVERY = 1.5
_WARM_ROUNDS = 5
_STEADY = 0.02
_ALIKE = 2.0


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    Attributes:
        seconds: for all candidates of a point together; no further round begins later.
        rounds: exactly as many instead; None: until the ratios are known to 1 %.
        confidence: of their intervals.
        warm_up: seconds after which candidates that still become faster are measured all the same.
    """

    seconds: float
    rounds: int | None = None
    confidence: float = 0.99
    warm_up: float = 0.5


@dataclass
class Samples:
    """Seconds a call, a sample for each round, by candidate; and how many calls each sample is the mean of."""

    rounds: dict[str, list[float]]
    calls: dict[str, int]
    steady: bool = True
    late: bool = field(default=False)


def measure(tasks: Mapping[str, Task], clock: Clock, plan: Plan) -> Samples:
    """Time the candidates; the first is the one that others are compared with."""
    with _undisturbed():
        counts = _counts(tasks, clock)
        steady = _warm_up(tasks, counts, clock, plan.warm_up)
        samples = Samples({name: [] for name in tasks}, {name: 2 * count for name, count in counts.items()}, steady)
        rng = random.Random(0)  # noqa: S311 - an order
        ends = time.perf_counter() + plan.seconds
        check_at = _LEAST_ROUNDS
        while True:
            _round(tasks, counts, clock, samples.rounds, rng)
            done = len(next(iter(samples.rounds.values())))
            if plan.rounds is not None:
                if done >= plan.rounds:
                    return samples
                continue
            samples.late = time.perf_counter() > ends
            if done >= _MOST_ROUNDS or (samples.late and done >= _enough(plan.confidence)):
                return samples
            if done >= check_at:
                check_at = math.ceil(done * _CHECK_EVERY)
                if _known(samples.rounds, plan.confidence):
                    return samples


def _enough(confidence: float) -> int:
    """The fewest rounds whose extremes enclose the median with that confidence, and some more."""
    return math.ceil(math.log2(2 / (1 - confidence))) + 2


def _known(rounds: Mapping[str, Sequence[float]], confidence: float) -> bool:
    base, *others = rounds.values()
    if not others:
        ones = [statistics.median(base)] * len(base)
        return decided(ratios(base, ones, confidence))
    return all(decided(ratios(each, base, confidence)) for each in others)


def _round(
    tasks: Mapping[str, Task], counts: Mapping[str, int], clock: Clock, into: dict[str, list[float]], rng: random.Random
) -> None:
    """There and back in a random order: what a place in the order does, and a drift during the round, cancel out."""
    order = rng.sample(list(tasks), len(tasks))
    took = dict.fromkeys(order, 0.0)
    for name in (*order, *reversed(order)):
        took[name] += clock.sample(tasks[name], counts[name])
    for name, seconds in took.items():
        into[name].append(seconds / 2)


def _counts(tasks: Mapping[str, Task], clock: Clock) -> dict[str, int]:
    """Calls in a sample; the same number for candidates that take about as long, or first calls count unequally."""
    took = {name: _seconds(task, clock) for name, task in tasks.items()}
    base = next(iter(took.values()))
    alike = {name: base if base / _ALIKE < each < base * _ALIKE else each for name, each in took.items()}
    return {name: max(1, round(_SAMPLE / each)) for name, each in alike.items()}


def _seconds(task: Task, clock: Clock) -> float:
    """About what a call takes, after those that compile, allocate and start threads."""
    count, began = 1, time.perf_counter()
    clock.sample(task, 1)
    while True:
        took = max(clock.sample(task, count), 1e-9)
        if took * count >= _SAMPLE / 2 or time.perf_counter() - began > 1.0:
            return took
        count = max(2 * count, int(_SAMPLE / took / 4))


def _warm_up(tasks: Mapping[str, Task], counts: Mapping[str, int], clock: Clock, seconds: float) -> bool:
    """Rounds that don't count, until no candidate becomes faster any more; whether that came about in time."""
    rng, ends = random.Random(1), time.perf_counter() + seconds  # noqa: S311 - an order
    last: dict[str, float] = {}
    while True:
        rounds: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(_WARM_ROUNDS):
            _round(tasks, counts, clock, rounds, rng)
            if last and time.perf_counter() > ends:
                return False
        now = {name: statistics.median(each) for name, each in rounds.items()}
        if last and all(now[name] > (1 - _STEADY) * last[name] for name in tasks):
            return True
        last = now


@contextmanager
def _undisturbed() -> Iterator[None]:
    """The garbage collector waits, as in ``timeit``."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


Timer = Callable[[Task, int], float]
