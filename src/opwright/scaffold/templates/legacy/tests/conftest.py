"""Lets the tests run the kernels wherever they can be run."""

from __future__ import annotations

from pathlib import Path

import opwright
import pytest
from opwright.pytest_plugin import CudaPlace

SOURCE = Path(__file__).parents[1] / "csrc" / "my_op.cu"


@pytest.fixture
def device(cuda_place: CudaPlace, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tensors' device. A test that takes it is five: emulated in three orders, emulated and watched, on a GPU."""
    monkeypatch.setattr("my_op.layer.ops", opwright.load(SOURCE, backend=cuda_place.backend))
    return cuda_place.device
