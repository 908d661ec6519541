"""Every planted crash is reported, with its call and a reproducer that crashes; right twins pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opwright
from opwright.check import request
from opwright.check.isolation import supervisor
from opwright.check.isolation.supervisor import FATAL
from tests.check.isolation.planted import PLANTED, Planted
from tests.interpreter import run_python

QUICK = {"zero_axis", "exits", "backward_only"}
"""Those of which `make test-all` tries the reproducer; the others' are tried with all kernels."""
_EVERY = [pytest.param(one, id=one.name, marks=() if one.name in QUICK else pytest.mark.exhaustive) for one in PLANTED]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop is ended after seconds, what takes memory after 2 GiB."""
    monkeypatch.setitem(request.CALL_SECONDS, "quick", 4.0)
    monkeypatch.setattr(supervisor, "MEMORY_SHARE", 0.0)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("planted", _EVERY)
def test_a_planted_crash_is_reported(planted: Planted, tmp_path: Path) -> None:
    report = opwright.check(planted.write(tmp_path, twin=False), level="quick")
    assert not report.ok
    died = [(o, finding) for o in report for finding in o.findings if finding.kind in FATAL]
    assert died, report.to_text(verbose=True)
    outcome, finding = died[0]
    assert (outcome.operator, finding.kind) == (planted.name, planted.kind)
    assert re.search(planted.says, finding.message), finding.message
    assert "\n  the call: x: float" in finding.message
    assert f"ops.{planted.name}(" in finding.reproducer
    if planted.kind == "crashes":
        status = run_python(finding.reproducer).returncode
        assert status < 0 or (planted.name, status) == ("exits", 3), finding.reproducer


@pytest.mark.exhaustive
@pytest.mark.parametrize("planted", _EVERY)
def test_its_right_twin_passes(planted: Planted, tmp_path: Path) -> None:
    report = opwright.check(planted.write(tmp_path, twin=True), level="quick")
    assert report.ok, report
    assert {"layouts", "sizes", "determinism"} <= {outcome.check for outcome in report if outcome.status == "passed"}


def test_there_are_enough() -> None:
    assert len({planted.name for planted in PLANTED}) == len(PLANTED) >= 20
