"""Timing of candidates in turn: many short rounds, in order and in reverse (A B C C B A), until the ratios are known.

Rounds during which the system preempted the process depend on the load of the machine, and are left out. They are
recognized by the system's count of preemptions: no sample is left out because of its value.
"""

from __future__ import annotations

import gc
import math
import random
import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opwright.bench.clock import Clock, without_garbage_collection
from opwright.bench.statistics import by_rank, fewest_rounds, is_precise
from opwright.bench.tasks import Task

_SAMPLE = 4e-4
"""Seconds of one sample: short, so that both samples of a pair are taken under the same conditions, and few are
interrupted."""
_LEAST_ROUNDS = 30
_MOST_ROUNDS = 1001
_CHECK_EVERY = 1.5
_WARM_ROUNDS = 5
_STEADY = 0.02
_SIMILAR = 3.0
_TRIES = 5
_CALIBRATION = 0.2
_OVERTIME = 3
"""If an interval has no bounds yet, the time limit may be exceeded by this multiple of it."""
_SAMPLE_WITH_SETUP = 2e-3
"""Seconds of one sample, including the setup before its calls."""


@dataclass(frozen=True)
class Plan:
    """A plan of the duration of a measurement.

    Attributes:
        seconds: time limit for all candidates of a point together; it is exceeded only if there are too few rounds for
            an interval.
        rounds: exact number of rounds instead; None: until the ratios are known to 1 %.
        confidence: confidence level of the intervals.
        warm_up: maximum seconds of the warm-up, even if candidates still become faster.
    """

    seconds: float
    rounds: int | None = None
    confidence: float = 0.99
    warm_up: float = 0.5


@dataclass
class Samples:
    """The samples of a point.

    Attributes:
        rounds: seconds per call, a sample for each round, by candidate.
        calls: number of calls of which each sample is the mean.
        steady: whether the warm-up ended within its time limit.
        interrupted: number of rounds that were left out because the system preempted the process.
    """

    rounds: dict[str, list[float]]
    calls: dict[str, int]
    steady: bool = True
    interrupted: int = 0


@dataclass
class _Rounds:
    """Rounds, and the indices of those that weren't interrupted."""

    tasks: Mapping[str, Task]
    counts: Mapping[str, int]
    clock: Clock
    rng: random.Random
    seconds: list[dict[str, float]] = field(default_factory=list)
    uninterrupted: list[int] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def add(self) -> None:
        """Measure a round, in a random order and in reverse, so that effects of order and drift in the round cancel.

        If a single call is long enough for a sample, the two orders are two rounds.
        """
        back = list(reversed(self.order))
        self.order = back if len(self.seconds) % 2 else self.rng.sample(list(self.tasks), len(self.tasks))
        preemptions = _preemptions()
        took = {name: [self.clock.sample(self.tasks[name], self._half(name))] for name in self.order}
        for name in reversed(self.order):
            if self.counts[name] > 1:
                took[name].append(self.clock.sample(self.tasks[name], self._half(name)))
        if _preemptions() == preemptions:
            self.uninterrupted.append(len(self.seconds))
        self.seconds.append({name: statistics.fmean(each) for name, each in took.items()})

    def calls(self, name: str) -> int:
        """Return the number of calls of which a sample is the mean."""
        return 2 * self._half(name) if self.counts[name] > 1 else 1

    def kept(self, least: int) -> dict[str, list[float]]:
        """Return the rounds that weren't interrupted; all rounds if those are fewer than `least`."""
        chosen = self.uninterrupted if len(self.uninterrupted) >= least else range(len(self.seconds))
        return {name: [self.seconds[number][name] for number in chosen] for name in self.tasks}

    def _half(self, name: str) -> int:
        return max(1, self.counts[name] // 2)


def measure(tasks: Mapping[str, Task], clock: Clock, plan: Plan) -> Samples:
    """Time the candidates; the others are compared with the first."""
    gc.collect()
    with without_garbage_collection():
        counts = _counts(tasks, clock)
        steady = _warm_up(tasks, counts, clock, plan.warm_up)
        rounds = _Rounds(tasks, counts, clock, random.Random(0))  # noqa: S311 - an order
        least = fewest_rounds(plan.confidence) if plan.rounds is None else plan.rounds
        if plan.rounds is None:
            _until_known(rounds, plan, least)
        else:
            for _ in range(plan.rounds):
                rounds.add()
        kept = rounds.kept(least)
        interrupted = len(rounds.seconds) - len(next(iter(kept.values())))
        return Samples(kept, {name: rounds.calls(name) for name in tasks}, steady, interrupted)


def _until_known(rounds: _Rounds, plan: Plan, least: int) -> None:
    """Add rounds until the medians and ratios are known well enough, or the time is over."""
    ends = time.perf_counter() + plan.seconds
    check_at = _LEAST_ROUNDS
    while len(rounds.uninterrupted) < _MOST_ROUNDS:
        rounds.add()
        now = time.perf_counter()
        if now > ends and len(rounds.seconds) >= least:
            bounded = all(by_rank(each, plan.confidence).is_bounded for each in rounds.kept(least).values())
            if bounded or now > ends + _OVERTIME * plan.seconds:
                return
        if len(rounds.uninterrupted) >= check_at:
            check_at = math.ceil(check_at * _CHECK_EVERY)
            if _known(rounds.kept(least), plan.confidence):
                return


def _known(rounds: Mapping[str, Sequence[float]], confidence: float) -> bool:
    base, *others = rounds.values()
    if not others:
        return is_precise(base, [1.0] * len(base), confidence)
    return all(is_precise(each, base, confidence) for each in others)


def _counts(tasks: Mapping[str, Task], clock: Clock) -> dict[str, int]:
    """Return the calls of a sample, equal for candidates of similar speed, so that first calls count equally."""
    costs = {name: _cost(task, clock) for name, task in tasks.items()}
    base = next(iter(costs.values()))
    costs = {n: base if base.call / _SIMILAR < cost.call < base.call * _SIMILAR else cost for n, cost in costs.items()}
    longest = max(costs.values(), key=lambda cost: cost.whole).whole
    return {name: max(1, round(min(_SAMPLE / cost.call, _SAMPLE_WITH_SETUP / longest))) for name, cost in costs.items()}


class _Cost(NamedTuple):
    """Seconds of a call, without and with its setup."""

    call: float
    whole: float


def _cost(task: Task, clock: Clock) -> _Cost:
    """Estimate the time of an uninterrupted call, after calls that compile, allocate and start threads."""
    count, quiet, began = 1, 0, time.perf_counter()
    cost = _Cost(math.inf, math.inf)
    clock.sample(task, 1)
    while quiet < _TRIES and (cost.call == math.inf or time.perf_counter() - began < _CALIBRATION):
        preemptions, started = _preemptions(), time.perf_counter()
        took = max(clock.sample(task, count), 1e-9)
        whole = (time.perf_counter() - started) / count
        cost = _Cost(min(cost.call, took), min(cost.whole, whole))
        if took * count < _SAMPLE / 4 and whole * count < _SAMPLE:
            count = max(2 * count, int(_SAMPLE / took / 4))
        else:
            quiet += preemptions == _preemptions()
    return cost


def _warm_up(tasks: Mapping[str, Task], counts: Mapping[str, int], clock: Clock, seconds: float) -> bool:
    """Measure rounds that don't count until no candidate becomes faster; return whether this was within `seconds`."""
    rng, ends = random.Random(1), time.perf_counter() + seconds  # noqa: S311 - an order
    last: dict[str, float] = {}
    while True:
        rounds = _Rounds(tasks, counts, clock, rng)
        for _ in range(_WARM_ROUNDS):
            rounds.add()
            if time.perf_counter() > ends:
                return not last  # such long calls have no time to settle
        now = {name: statistics.median(each) for name, each in rounds.kept(_WARM_ROUNDS).items()}
        if last and all(now[name] > (1 - _STEADY) * last[name] for name in tasks):
            return True
        last = now


def _preemptions() -> int:
    """Return the number of times the system preempted one of the process's threads."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
