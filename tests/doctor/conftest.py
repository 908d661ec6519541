"""An environment that asks for nothing, a cache of the test's own, and programs that are broken in some way."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.doctor import Finding, Section, examine
from opwright.doctor.environment import OTHERS, OURS

Look = Callable[..., dict[str, list[Finding]]]
Script = Callable[[Path, str], Path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root of this test, and no variable that matters."""
    for variable in os.environ:
        if variable in OURS | OTHERS or variable.startswith("OPWRIGHT_"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    return tmp_path / "extensions" / "opwright"


@pytest.fixture
def script() -> Script:
    """Write a shell script that can be run."""

    def write(path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def look() -> Look:
    """The findings of a section, by topic: ``look("compilers")``."""

    def at(name: str) -> dict[str, list[Finding]]:
        (section,) = examine([name]).sections
        return by_topic(section)

    return at


def by_topic(section: Section) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in section.findings:
        found.setdefault(finding.topic, []).append(finding)
    return found
