"""The project that a test changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.legacy.ffi.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield Project(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("_ext", "mine")]:
        del sys.modules[name]
