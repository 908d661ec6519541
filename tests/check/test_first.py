"""What can't be built, or called, is said once; a crash in a copy of the process is a finding."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from torch import Tensor

import opwright
from opwright.check import first, watch
from opwright.check.alone import BusyError, survived

KERNEL = """
OPWRIGHT("times(x: f32[N]) -> (y: f32[N])")
void times(Tensor<const float, 1> x, Tensor<float, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
  {more}
}}
"""
CRASH = "*(volatile int*)nullptr = 1;"
SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
Write = Callable[..., Path]


def test_what_doesnt_compile_is_one_finding(write: Write) -> None:
    report = opwright.check(write(KERNEL.format(more="return nothing;"), "nothing_there.cpp"), level="quick")
    assert [finding.kind for finding in report.findings] == ["doesnt-compile"]
    assert "nothing_there.cpp:6" in report.findings[0].message
    assert not report.ok
    assert {outcome.status for outcome in report.outcomes[1:]} == {"skipped"}
    assert {outcome.detail for outcome in report.outcomes[1:]} == {"it can't be built"}


@pytest.mark.parametrize(
    ("name", "condition", "only"),
    [
        ("crashes_always", "", "first calls"),
        ("crashes_later", "static int calls = 0; if (++calls == 3)", "history"),
    ],
)
def test_a_crash_is_a_finding(name: str, condition: str, only: str, write: Write) -> None:
    path = write(KERNEL.format(more=f"{condition} {CRASH}"), f"{name}.cpp")
    report = opwright.check(path, level="quick", only=("history", "sizes"))
    failed = [outcome for outcome in report if outcome.status == "failed"]
    assert [outcome.check for outcome in failed] == [only], report
    assert [finding.kind for finding in report.findings] == ["crashes"]
    assert "killed by SIG" in report.findings[0].message
    assert "ops.times(" in report.findings[0].reproducer
    assert report.outcomes[-1].status == "skipped"


def test_a_crash_where_elements_have_gaps() -> None:
    def crashing(x: Tensor) -> Tensor:
        if x.stride()[0] > 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        return x + 0

    report = opwright.check(crashing, signature=SIGNATURE, level="quick", only=("far elements",))
    assert report.kinds == {"crashes"}
    assert "spread(x, 0, 0)" in report.findings[0].reproducer


def test_what_always_raises_hasnt_passed() -> None:
    def broken(x: Tensor) -> Tensor:
        raise ValueError("no such luck")

    every = ("history", "forward mode", "gradient types", "single gradients", "far elements", "layouts")
    report = opwright.check(broken, signature=SIGNATURE, level="quick", only=every)
    (finding,) = report.findings
    assert (finding.kind, finding.message) == ("raises", "no call succeeded: ValueError: no such luck")
    assert "broken(x)" in finding.reproducer
    assert {(outcome.status, outcome.detail) for outcome in report.outcomes[1:]} == {("skipped", finding.message)}


def test_what_loops_without_end_is_a_finding(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(first.SECONDS, "quick", 2.0)
    path = write(KERNEL.format(more="for (volatile bool on = true; on;) {}"), "loops.cpp")
    report = opwright.check(path, level="quick", only=("values",))
    (finding,) = report.findings
    assert finding.kind == "doesnt-return"
    assert finding.message == "a call hasn't returned within 2 s, in a copy of the process"
    assert "ops.times(" in finding.reproducer
    assert {outcome.status for outcome in report.outcomes[1:]} == {"skipped"}


def test_what_waits_isnt_known_to_loop() -> None:
    def waiting() -> str:
        signal.pause()
        return ""

    with pytest.raises(TimeoutError) as error:
        survived(waiting, 0.3)
    assert not isinstance(error.value, BusyError)


def test_a_call_that_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(watch, "SECONDS", 0.2)

    def slow(x: Tensor) -> Tensor:
        if x.shape[0] == 3:
            time.sleep(0.5)
        return 2 * x

    opwright.check(slow, signature=SIGNATURE, level="quick", only=("layouts",), seed=1)
    said = re.findall(r"opwright check: (.*)", capfd.readouterr().err)
    kinds = ("float32", "float64")
    told = {f"f: layouts: a call hasn't returned for 0.2 s, with x: {kind} of shape (3,)" for kind in kinds}
    assert said
    assert set(said) <= told
