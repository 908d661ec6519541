"""What is kept between calls is told from chance; what is far away is reached; small leaks are seen."""

from __future__ import annotations

import os
from itertools import count, repeat

import pytest
import torch
from torch import Tensor

import opwright
from opwright.check import Report
from opwright.check.calls.cases import unaligned_copy
from opwright.check.checks import memory as heap
from opwright.check.checks.index_overflow import spread
from opwright.check.checks.memory import allocated_bytes

POINT = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"


def checked(function: object, only: str, signature: str = POINT) -> Report:
    return opwright.check(function, signature=signature, level="quick", only=(only,))


def test_what_counts_calls_keeps_state() -> None:
    calls = [0]

    def counting(x: Tensor) -> Tensor:
        calls[0] += 1
        return x + calls[0]

    assert checked(counting, "history").kinds == {"keeps-state"}


@pytest.mark.slow
def test_what_keeps_the_largest_number_keeps_state() -> None:
    most = [0.0]

    def scaled(x: Tensor) -> Tensor:
        most[0] = max([most[0], *x.tolist()])
        return x + most[0]

    report = checked(scaled, "history")
    assert report.kinds == {"keeps-state"}
    assert "where one with other numbers was between" in report.findings[0].message


def test_what_knows_arguments_by_their_address_keeps_state() -> None:
    known: dict[tuple[int, int], Tensor] = {}

    def cached(x: Tensor) -> Tensor:
        return known.setdefault((0, x.numel()), 2 * x).to(x.dtype)  # as if each had the address of the one before

    report = checked(cached, "history")
    assert report.kinds == {"keeps-state"}
    assert "after one with other numbers, of the same sizes" in report.findings[0].message


@pytest.mark.slow
def test_chance_is_no_state() -> None:
    def random(x: Tensor) -> Tensor:
        return x + int.from_bytes(os.urandom(2), "little")

    assert checked(random, "history").ok
    assert checked(random, "determinism").kinds == {"nondeterministic"}


def test_far_elements() -> None:
    def wraps(x: Tensor) -> Tensor:
        strides = [(stride + 2**31) % 2**32 - 2**31 for stride in x.stride()]
        return torch.as_strided(x, x.shape, [abs(stride) % 8 for stride in strides]) + 0

    matrix = "f(x: T[B, N]) -> (y: T[B, N]) where T in (f32, f64)"
    assert checked(lambda x: x + 0, "far elements", matrix).ok
    report = opwright.check(
        lambda x: wraps(x) if max(x.stride()) > 2**29 else x + 0,
        signature=matrix,
        level="quick",
        only=("far elements",),
    )
    assert report.kinds == {"index-overflow"}
    assert "spread(x, " in report.findings[0].reproducer


def test_spread() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for axis in range(3):
        far = spread(x, axis, 2**31)
        assert torch.equal(far, x)
        assert far.stride()[axis] == 2**31
    assert torch.equal(unaligned_copy(x.reshape(-1)), x.reshape(-1))


def test_the_heap_is_counted_to_the_byte() -> None:
    before = allocated_bytes()
    if before is None:  # another C library, or an older one
        return
    kept = [torch.empty(1000) for _ in range(100)]
    after = allocated_bytes()
    assert after is not None
    assert 400_000 <= after - before <= 600_000
    del kept


@pytest.mark.exhaustive
@pytest.mark.parametrize(("grows", "kinds"), [((0, 9000, 0), set()), ((0, *repeat(9000, 9)), {"leaks"})])
def test_a_leak_never_ends(monkeypatch: pytest.MonkeyPatch, grows: tuple[int, ...], kinds: set[str]) -> None:
    """The heap that one round leaves larger, and the next one doesn't, is chance, however little time there was."""
    used, number = [0], count()

    def counted(_device: str) -> int:
        asked = next(number)
        used[0] += grows[asked // 2] if asked % 2 else 0
        return used[0]

    monkeypatch.setattr(heap, "allocated_bytes", counted)
    monkeypatch.setattr("opwright.check.context.Context.out_of_time", True)
    report = checked(lambda x: x + 1, "leaks")
    assert report.kinds == kinds, report
    assert next(number) == 2 * len(grows)


def test_a_crash_at_a_group_of_zero_is_answered_with_its_domain() -> None:
    def grouped(x: Tensor, groups: int) -> Tensor:
        if groups == 0:
            os.abort()
        return x.clone()

    (finding,) = checked(grouped, "history", "f(x: T[N], groups: int) -> (y: T[N]) where T in (f32, f64)").findings
    assert finding.kind == "crashes"
    assert finding.message.startswith("called three times: a forked child that calls it is killed by SIGABRT\n")
    assert finding.message.endswith("likely fix: if groups can't be 0, the signature says so: groups: int in [1, inf)")
