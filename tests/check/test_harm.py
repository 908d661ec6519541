"""What runs apart runs first; after what would damage this process the operator isn't called in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from torch import Tensor

from opwright.check import runner
from opwright.check.context import Context
from opwright.check.registry import Check, all_checks
from opwright.check.report import Finding
from opwright.check.targets import subjects


@pytest.mark.parametrize("harmful", [True, False])
def test_what_damages_the_process(harmful: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def counted(x: Tensor) -> Tensor:
        calls[0] += 1
        return x + 0

    def apart(context: Context) -> Iterator[Finding]:
        yield Finding("out-of-bounds", "", harmful=harmful)

    def after(context: Context) -> Iterator[Finding]:
        context.subject.call({"x": None})
        yield from ()

    checks = [
        Check("apart", "g", "quick", apart, 1.0, asked=False, apart=True),
        Check("after", "g", "quick", after, 1.0, asked=False, apart=False),
    ]
    monkeypatch.setattr(runner, "chosen", lambda *_: checks)
    report = runner.run(subjects(counted, signature="f(x: T[N]) -> (y: T[N])"))
    assert not report.ok
    assert (calls[0] == 0) is harmful
    assert report.outcomes[1].status == ("skipped" if harmful else "error")
    if harmful:
        assert report.outcomes[1].detail == "it isn't called in this process after what apart found: out-of-bounds"


def test_the_order() -> None:
    checks = list(all_checks().values())
    assert [check.apart for check in checks] == sorted((check.apart for check in checks), reverse=True)
    assert checks[0].apart
