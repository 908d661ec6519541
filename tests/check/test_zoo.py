"""Every broken operator of the zoo is found and named, and every right twin passes; tools/zoo.py runs all checks."""

from __future__ import annotations

import difflib

import pytest

from tests.check.zoo.members import HERE, MEMBERS, Member

QUICK = {"wrong_sign", "wrong_in_tail", "keeps_state", "fake_strides"}
_PARAMETERS = [
    pytest.param(member, id=member.name, marks=() if member.name in QUICK else pytest.mark.exhaustive)
    for member in MEMBERS
]


@pytest.mark.slow
@pytest.mark.parametrize("member", _PARAMETERS)
def test_the_broken_one_is_found_and_named(member: Member) -> None:
    report = member.check(twin=False, only=member.checks, level="quick")
    assert member.kind in report.kinds, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("member", _PARAMETERS)
def test_the_right_twin_passes(member: Member) -> None:
    report = member.check(twin=True, only=member.checks, level="quick")
    assert report.ok, str(report)
    assert any(outcome.status == "passed" for outcome in report), str(report)


def test_there_are_enough_and_none_is_left_out() -> None:
    names = [member.name for member in MEMBERS]
    assert len(set(names)) == len(names) >= 30
    files = {path.name.partition(".")[0] for path in (HERE / "kernels").iterdir()}
    assert files <= set(names)


def test_a_twin_differs_in_little_else() -> None:
    for path in sorted((HERE / "kernels").glob("*.right.*")):
        broken = path.with_name(path.name.replace(".right", ""))
        lines = difflib.ndiff(broken.read_text().splitlines(), path.read_text().splitlines())
        changed = [line for line in lines if line.startswith(("- ", "+ ")) and not line[2:].startswith("//")]
        assert 0 < len(changed) <= 10, path.name
