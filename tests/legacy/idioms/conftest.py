"""The idioms of 2017 to 2019 for a test, and modules that it writes."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opwright.legacy import autograd, idioms
from tests.legacy.idioms.variables import Undo


@pytest.fixture(autouse=True)
def undo() -> Iterator[Undo]:
    applied = [change.apply() for change in (*autograd.CHANGES, *idioms.CHANGES)]
    yield applied
    while applied:
        applied.pop()()


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Any]]:
    """Write a module, and import it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def of(name: str, source: str) -> Any:
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield of
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
