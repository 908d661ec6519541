"""An environment that asks for nothing, a cache of the test's own, and what the doctor finds there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.doctor import Section, examine
from opwright.doctor.environment import OTHERS, OURS
from tests.doctor.findings import Found, Look


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root of this test, and no variable that matters."""
    for variable in os.environ:
        if variable in OURS | OTHERS or variable.startswith("OPWRIGHT_"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    return tmp_path / "extensions" / "opwright"


@pytest.fixture
def look() -> Look:
    """The findings of a section, by topic: ``look("compilers")``."""

    def at(name: str) -> Found:
        (section,) = examine([name]).sections
        return by_topic(section)

    return at


def by_topic(section: Section) -> Found:
    found: Found = {}
    for finding in section.findings:
        found.setdefault(finding.topic, []).append(finding)
    return found
