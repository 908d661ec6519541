"""What can't be built or called is one finding, and after a harmful one nothing more is called."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from torch import Tensor

import opwright
from opwright.check import runner
from opwright.check.checks import all_checks
from opwright.check.context import Context
from opwright.check.listener import Collector
from opwright.check.registry import Check
from opwright.check.report import Finding, Report
from opwright.check.request import Request
from opwright.check.targets import find_operators

KERNEL = """
OPWRIGHT("times(x: f32[N]) -> (y: f32[N])")
void times(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
  return nothing;
}
"""
SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
Write = Callable[..., Path]


def test_a_library_that_ends_the_process_is_one_finding(write: Write) -> None:
    text = (
        KERNEL.replace("  return nothing;\n", "") + "struct Table { Table() { __builtin_abort(); } };\nTable table;\n"
    )
    report = opwright.check(write(text, "ends_at_loading.cpp"), level="quick")
    assert [finding.kind for finding in report.findings] == ["doesnt-compile"]
    assert "ends_at_loading.cpp:8: error: loading this library ends the process: this" in report.findings[0].message


def test_what_doesnt_compile_is_one_finding(write: Write) -> None:
    report = opwright.check(write(KERNEL, "nothing_there.cpp"), level="quick")
    assert [finding.kind for finding in report.findings] == ["doesnt-compile"]
    assert "nothing_there.cpp:6" in report.findings[0].message
    assert not report.ok
    assert {outcome.status for outcome in report.outcomes[1:]} == {"skipped"}
    assert {outcome.detail for outcome in report.outcomes[1:]} == {"it can't be built"}


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


@pytest.mark.parametrize("harmful", [True, False])
def test_what_damages_the_process(harmful: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def counted(x: Tensor) -> Tensor:
        calls[0] += 1
        return x + 0

    def apart(context: Context) -> Iterator[Finding]:
        yield Finding("out-of-bounds", "", harmful=harmful)

    def after(context: Context) -> Iterator[Finding]:
        context.operator.call({"x": None})
        yield from ()

    checks = [
        Check("apart", "g", "quick", apart, 1.0, on_request=False, in_child=True),
        Check("after", "g", "quick", after, 1.0, on_request=False, in_child=False),
    ]
    monkeypatch.setattr(runner, "select", lambda *_: checks)
    report = Report()
    runner.run(find_operators(counted, signature="f(x: T[N]) -> (y: T[N])"), Request(()), Collector(report))
    assert not report.ok
    assert (calls[0] == 0) is harmful
    assert report.outcomes[1].status == ("skipped" if harmful else "error")
    if harmful:
        assert report.outcomes[1].detail == "it isn't called any more after what apart found: out-of-bounds"


def test_the_order() -> None:
    checks = list(all_checks().values())
    assert [check.in_child for check in checks] == sorted((check.in_child for check in checks), reverse=True)
    assert checks[0].in_child
