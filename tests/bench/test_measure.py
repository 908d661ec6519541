"""The order of rounds, what is set aside, and verdicts on candidates whose times are simulated."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch

from opwright.bench import measure as module
from opwright.bench.clock import CpuClock
from opwright.bench.measure import Plan, Samples, measure
from opwright.bench.statistics import ratios, verdict
from opwright.bench.tasks import Task


class Simulated:
    """A machine whose speed drifts, with a neighbour that comes and goes; tasks are told apart by what they return."""

    flush: torch.Tensor | None = None

    def __init__(self, seed: int, times: dict[str, float], noise: float = 0.01) -> None:
        self.rng, self.times, self.noise = random.Random(seed), times, noise
        self.now, self.busy = 1.0, False
        self.order: list[str] = []

    def sample(self, task: Task, count: int) -> float:
        name = task.call()
        self.order.append(name)
        self.now *= 1 + self.rng.gauss(0, 0.002)
        if self.rng.random() < 0.02:
            self.busy = not self.busy
        interrupted = self.rng.random() < (0.3 if self.busy else 0.02)
        factor = self.now * (1 + self.rng.gauss(0, self.noise)) * (1.1 if self.busy else 1.0)
        return self.times[name] * factor + interrupted * self.rng.expovariate(1e3) / count


def tasks(*names: str) -> dict[str, Task]:
    return {name: Task(lambda name=name: name) for name in names}  # type: ignore[misc]


def compared(seed: int, slower: float) -> str:
    clock = Simulated(seed, {"one": 1e-4, "other": 1e-4 * slower})
    samples = measure(tasks("one", "other"), clock, Plan(seconds=0.05))
    return verdict(ratios(samples.rounds["other"], samples.rounds["one"]))


@pytest.mark.exhaustive
def test_identical_ones_are_hardly_ever_told_apart_and_5_percent_are_found() -> None:
    same = Counter(compared(seed, 1.0) for seed in range(10))
    assert same["slower"] + same["faster"] <= 1
    found = Counter(compared(seed, 1.05) for seed in range(10))
    assert found["slower"] >= 9


def test_rounds_go_there_and_back() -> None:
    clock = Simulated(0, {"a": 1e-5, "b": 1e-5, "c": 1e-5})
    measure(tasks("a", "b", "c"), clock, Plan(seconds=1.0, rounds=40))
    rounds = [clock.order[-6 * k - 6 : len(clock.order) - 6 * k] for k in range(40)]
    assert all(each == each[::-1] and set(each) == {"a", "b", "c"} for each in rounds)
    assert len({"".join(each) for each in rounds}) >= 4


def test_long_calls_are_made_once_a_round_and_every_other_round_goes_back() -> None:
    clock = Simulated(0, {"a": 1e-2, "b": 1e-2})
    samples = measure(tasks("a", "b"), clock, Plan(seconds=1.0, rounds=10))
    last = clock.order[-20:]
    assert [last[k : k + 2] for k in range(2, 20, 4)] == [last[k : k + 2][::-1] for k in range(0, 20, 4)]
    assert samples.calls == {"a": 1, "b": 1}


def test_like_candidates_get_the_same_number_of_calls() -> None:
    clock = Simulated(0, {"a": 1e-6, "b": 1.9e-6, "c": 1e-4})
    samples = measure(tasks("a", "b", "c"), clock, Plan(seconds=1.0, rounds=5))
    assert samples.calls["a"] == samples.calls["b"] > 20 * samples.calls["c"] > 0


def test_interrupted_rounds_are_set_aside_whatever_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's count decides: here it grows in every third round, whose samples are no longer than others."""
    seen, calls = [0], [0]

    def counted() -> int:
        calls[0] += 1
        if calls[0] % 6 == 0:
            seen[0] += 1
        return seen[0]

    clock = Simulated(0, {"a": 1e-4, "b": 1e-4})
    found: list[Samples] = []
    real = module._until_known

    def until_known(*words: object) -> None:
        monkeypatch.setattr(module, "_preemptions", counted)
        real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_until_known", until_known)
    found.append(measure(tasks("a", "b"), clock, Plan(seconds=0.05)))
    kept = len(found[0].rounds["a"])
    assert found[0].interrupted == pytest.approx((kept + found[0].interrupted) / 3, abs=1)


def test_rounds_that_are_all_interrupted_are_better_than_none(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**9))
    monkeypatch.setattr(module, "_preemptions", lambda: next(numbers))
    monkeypatch.setattr(module, "_CALIBRATION", 0.01)
    samples = measure(tasks("a"), Simulated(0, {"a": 1e-4}), Plan(seconds=0.02))
    assert len(samples.rounds["a"]) >= 20
    assert samples.interrupted == 0


def test_what_comes_before_is_not_timed_and_limits_how_many_calls_a_sample_has() -> None:
    made: list[int] = []

    def before() -> None:
        made.append(1)
        sum(range(20_000))

    clock = CpuClock()
    samples = measure({"short": Task(lambda: None, before)}, clock, Plan(seconds=0.2, rounds=3))
    assert max(samples.rounds["short"]) < 1e-4
    assert samples.calls["short"] <= 40
    assert len(made) >= 3


def test_cold_caches_are_flushed_before_each_call() -> None:
    clock = CpuClock(flush=1 << 16)
    assert clock.flush is not None
    clock.sample(Task(lambda: None), 5)
    assert int(clock.flush[0]) == 5
    assert math.isfinite(clock.sample(Task(lambda: None, lambda: None), 2))
