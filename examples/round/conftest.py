"""Lets the tests import this folder's modules by their names; where CUDA kernels are run in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda.emulation import Emulate, order

sys.path.insert(0, str(Path(__file__).parent))

GPU = pytest.param("gpu", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"))
Place = tuple[Emulate | None, str]


@pytest.fixture(params=["forward", "reverse", "random", "checked", GPU])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The back end of CUDA kernels, and the device of their tensors.

    Emulated, with blocks and threads in each order; emulated with every access watched; on a GPU, where there is one.
    """
    if request.param == "gpu":
        yield None, "cuda"
    elif request.param == "checked":
        yield opwright.emulate(check=True), "cpu"
    else:
        with order(request.param, seed=1):
            yield opwright.emulate(), "cpu"
