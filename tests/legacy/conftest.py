"""Extensions that all tests share: each is compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.legacy.extensions import Extension, everything, extension

CSRC = Path(__file__).parent / "csrc"


@pytest.fixture(scope="session")
def th() -> Extension:
    """TH's functions of structure and storages, called from Python as an extension's would be."""
    return everything()


@pytest.fixture(scope="session")
def probe() -> Extension:
    """C that does what extensions do, and what they shouldn't (csrc/probe.c)."""
    return extension((CSRC / "probe.h").read_text(), (CSRC / "probe.c").read_text())
