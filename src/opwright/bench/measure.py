"""Times candidates in turn: many short rounds, each there and back (A B C C B A), until the ratios are known.

A round during which the system took the processor away says how busy the machine is, not how long a call takes. Whether
that happened, the system counts: no sample is left out for its value.
"""

from __future__ import annotations

import gc
import math
import random
import resource
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from opwright.bench.calls import Task
from opwright.bench.clock import Clock
from opwright.bench.statistics import by_rank, decided, enough

_SAMPLE = 4e-4
"""Seconds of one sample: short, so that both of a pair meet the same machine and few are interrupted."""
_LEAST_ROUNDS = 30
_MOST_ROUNDS = 1001
_CHECK_EVERY = 1.5
_WARM_ROUNDS = 5
_STEADY = 0.02
_ALIKE = 3.0
_TRIES = 5
_CALIBRATION = 0.2
_PATIENCE = 3
"""How many times the given time may go by beyond it, where no interval can be told yet."""
_WITH_OTHERS = 2e-3
"""Seconds of one sample with what comes before its calls."""


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    Attributes:
        seconds: for all candidates of a point together; later rounds begin only where there are too few for any
            interval.
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
    """What was measured.

    Attributes:
        rounds: seconds a call, a sample for each round, by candidate.
        calls: how many calls each sample is the mean of.
        steady: whether the warm-up came to an end before its time was over.
        interrupted: how many rounds were set aside because the system took the processor away.
    """

    rounds: dict[str, list[float]]
    calls: dict[str, int]
    steady: bool = True
    interrupted: int = 0


@dataclass
class _Rounds:
    """Rounds, and which of them were interrupted."""

    tasks: Mapping[str, Task]
    counts: Mapping[str, int]
    clock: Clock
    rng: random.Random
    took: list[dict[str, float]] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def another(self) -> None:
        """There and back in a random order: what a place in it does, and a drift during the round, cancel out.

        Where a single call is long enough for a sample, there and back are two rounds.
        """
        back = list(reversed(self.order))
        self.order = back if len(self.took) % 2 else self.rng.sample(list(self.tasks), len(self.tasks))
        switches = _switches()
        took = {name: [self.clock.sample(self.tasks[name], self._half(name))] for name in self.order}
        for name in reversed(self.order):
            if self.counts[name] > 1:
                took[name].append(self.clock.sample(self.tasks[name], self._half(name)))
        if _switches() == switches:
            self.whole.append(len(self.took))
        self.took.append({name: statistics.fmean(each) for name, each in took.items()})

    def calls(self, name: str) -> int:
        """How many a sample is the mean of."""
        return 2 * self._half(name) if self.counts[name] > 1 else 1

    def kept(self, least: int) -> dict[str, list[float]]:
        """The rounds that weren't interrupted; all of them, where those are fewer than `least`."""
        chosen = self.whole if len(self.whole) >= least else range(len(self.took))
        return {name: [self.took[number][name] for number in chosen] for name in self.tasks}

    def _half(self, name: str) -> int:
        return max(1, self.counts[name] // 2)


def measure(tasks: Mapping[str, Task], clock: Clock, plan: Plan) -> Samples:
    """Time the candidates; the first is the one that others are compared with."""
    with _undisturbed():
        counts = _counts(tasks, clock)
        steady = _warm_up(tasks, counts, clock, plan.warm_up)
        rounds = _Rounds(tasks, counts, clock, random.Random(0))  # noqa: S311 - an order
        least = enough(plan.confidence) if plan.rounds is None else plan.rounds
        if plan.rounds is None:
            _until_known(rounds, plan, least)
        else:
            for _ in range(plan.rounds):
                rounds.another()
        kept = rounds.kept(least)
        interrupted = len(rounds.took) - len(next(iter(kept.values())))
        return Samples(kept, {name: rounds.calls(name) for name in tasks}, steady, interrupted)


def _until_known(rounds: _Rounds, plan: Plan, least: int) -> None:
    ends = time.perf_counter() + plan.seconds
    check_at = _LEAST_ROUNDS
    while len(rounds.whole) < _MOST_ROUNDS:
        rounds.another()
        now = time.perf_counter()
        if now > ends and len(rounds.took) >= least:
            bounded = all(math.isfinite(by_rank(each, plan.confidence).low) for each in rounds.kept(least).values())
            if bounded or now > ends + _PATIENCE * plan.seconds:
                return
        if len(rounds.whole) >= check_at:
            check_at = math.ceil(check_at * _CHECK_EVERY)
            if _known(rounds.kept(least), plan.confidence):
                return


def _known(rounds: Mapping[str, Sequence[float]], confidence: float) -> bool:
    base, *others = rounds.values()
    if not others:
        return decided(base, [1.0] * len(base), confidence)
    return all(decided(each, base, confidence) for each in others)


def _counts(tasks: Mapping[str, Task], clock: Clock) -> dict[str, int]:
    """Calls in a sample; the same number for candidates that take about as long, or first calls count unequally."""
    costs = {name: _cost(task, clock) for name, task in tasks.items()}
    base = next(iter(costs.values()))
    alike = {n: base if base.call / _ALIKE < each.call < base.call * _ALIKE else each for n, each in costs.items()}
    longest = max(costs.values(), key=lambda each: each.whole).whole
    return {name: max(1, round(min(_SAMPLE / each.call, _WITH_OTHERS / longest))) for name, each in alike.items()}


class _Cost(NamedTuple):
    """Seconds: of a call, and with what comes before it."""

    call: float
    whole: float


def _cost(task: Task, clock: Clock) -> _Cost:
    """About what a call takes that nothing interrupts, after those that compile, allocate and start threads."""
    count, quiet, began = 1, 0, time.perf_counter()
    found = _Cost(math.inf, math.inf)
    clock.sample(task, 1)
    while quiet < _TRIES and (found.call == math.inf or time.perf_counter() - began < _CALIBRATION):
        switches, started = _switches(), time.perf_counter()
        took = max(clock.sample(task, count), 1e-9)
        whole = (time.perf_counter() - started) / count
        found = _Cost(min(found.call, took), min(found.whole, whole))
        if took * count < _SAMPLE / 4 and whole * count < _SAMPLE:
            count = max(2 * count, int(_SAMPLE / took / 4))
        else:
            quiet += switches == _switches()
    return found


def _warm_up(tasks: Mapping[str, Task], counts: Mapping[str, int], clock: Clock, seconds: float) -> bool:
    """Rounds that don't count, until no candidate becomes faster any more; whether that came about in time."""
    rng, ends = random.Random(1), time.perf_counter() + seconds  # noqa: S311 - an order
    last: dict[str, float] = {}
    while True:
        rounds = _Rounds(tasks, counts, clock, rng)
        for _ in range(_WARM_ROUNDS):
            rounds.another()
            if time.perf_counter() > ends:
                return not last  # what takes so long has no time to settle
        now = {name: statistics.median(each) for name, each in rounds.kept(_WARM_ROUNDS).items()}
        if last and all(now[name] > (1 - _STEADY) * last[name] for name in tasks):
            return True
        last = now


def _switches() -> int:
    """How many times the system took the processor away from one of the process's threads."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


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
