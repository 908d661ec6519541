"""Objects of a process: what another one can rebuild is called there, and the rest here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import opwright
from opwright.check import Report

KERNEL = """
OPWRIGHT("{name}(x: T[N]) -> (y: T[]) where T in (f32, f64)")
template <class T>
void {name}(Tensor<const T, 1> x, Tensor<T, 0> y) {{
  {fault}
  y() = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y() += x[i];
}}
"""
CRASH = "volatile int64_t each = 100 / x.numel();"
Write = Callable[..., Path]


def total(x: Tensor) -> Tensor:
    """A reference that another process can import."""
    return x.sum()


def statuses(report: Report) -> list[tuple[str, str]]:
    return [(outcome.check, outcome.status) for outcome in report]


def test_an_operator_and_a_modules_reference_go_there(write: Write) -> None:
    ops = opwright.load(write(KERNEL.format(name="rebuilt", fault=CRASH), "rebuilt.cpp"))
    report = opwright.check(ops.rebuilt, total, level="quick", only=("agreement", "inference mode"))
    assert statuses(report) == [("agreement", "failed"), ("inference mode", "passed")]
    assert report.kinds == {"crashes"}
    assert "ops.rebuilt(x)" in report.findings[0].reproducer
    assert not report.notes


@pytest.mark.slow
def test_a_reference_that_stays_here(write: Write) -> None:
    """Its checks run last, and not at all if the operator crashes in others."""
    called: list[int] = []

    def reference(x: Tensor) -> Tensor:
        called.append(os.getpid())
        return x.sum()

    only = ("agreement", "sizes")
    ops = opwright.load(write(KERNEL.format(name="here_right", fault=""), "here_right.cpp"))
    report = opwright.check(ops, reference, level="quick", only=only)
    assert statuses(report) == [("sizes", "passed"), ("agreement", "passed")]
    assert set(called) == {os.getpid()}
    assert report.notes == ["the reference is an object of this process, where these checks ran: agreement"]
    report = opwright.check(ops, lambda x: x.sum() + 1, level="quick", only=("agreement",))
    assert report.kinds == {"wrong-value"}
    ops = opwright.load(write(KERNEL.format(name="here_wrong", fault=CRASH), "here_wrong.cpp"))
    report = opwright.check(ops, reference, level="quick", only=only)
    assert statuses(report) == [("agreement", "failed"), ("sizes", "failed")]
    assert report.kinds == {"crashes"}
    (outcome,) = opwright.check(ops, reference, level="quick", only=("agreement",))
    assert [finding.kind for finding in outcome.findings] == ["crashes"]


@pytest.mark.parametrize("isolate", [True, False])
def test_callables_are_called_here(isolate: bool) -> None:
    called: list[int] = []

    def function(x: Tensor) -> Tensor:
        called.append(os.getpid())
        return 2 * x

    options = {"signature": "f(x: T[N]) -> (y: T[N]) where T in (f32)", "level": "quick", "only": ("sizes",)}
    assert opwright.check(function, isolate=isolate, **options).ok  # type: ignore[arg-type] # a few options
    assert set(called) == {os.getpid()}


def test_without_isolation_everything_is_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "neg", lambda x: x + 1)
    options = {"signature": "neg(x: T[N]) -> (y: T[N]) where T in (f32)", "level": "quick", "only": ("agreement",)}
    for isolate in (True, False):
        report = opwright.check("torch:neg", "torch:negative", isolate=isolate, **options)  # type: ignore[arg-type]
        assert report.ok is isolate
