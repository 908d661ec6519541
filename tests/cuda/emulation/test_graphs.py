"""CUDA graphs: captured streams, graphs of nodes, and what may not be called meanwhile."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from .conftest import build_at

SOURCES = Path(__file__).parent / "graphs"
CAPTURED = ("replayed", "of_variables", "of_expressions", "of_boxes", "forked", "forbidden")
MADE = ("nodes", "boxes", "wrong_nodes")


@pytest.fixture(scope="module", params=["captured", "made"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    text = (SOURCES / f"{request.param}.cu").read_text()
    return build_at(tmp_path_factory.mktemp("graphs") / f"graphs_{request.param}.cu", text)


def test_functions_of_the_source(library: ctypes.CDLL) -> None:
    """Each returns the line that went wrong."""
    names = [name for name in (*CAPTURED, *MADE) if hasattr(library, name)]
    assert names in [list(CAPTURED), list(MADE)]
    assert {name: getattr(library, name)() for name in names} == dict.fromkeys(names, 0)
