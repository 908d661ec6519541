"""The operators of kernels/, each file loaded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def grads() -> opwright.Operators:
    """Differentiable operators."""
    return opwright.load(KERNELS / "autograd_ops.cpp")


@pytest.fixture(scope="session")
def calls() -> opwright.Operators:
    """Operators that tell how they were called."""
    return opwright.load(KERNELS / "call_ops.cpp")


@pytest.fixture
def leaf() -> Callable[..., torch.Tensor]:
    """Random tensors between 0.5 and 1.5 that require a gradient: ``leaf(2, 3)``."""
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return (torch.rand(shape, generator=generator, dtype=dtype) + 0.5).requires_grad_()

    return make
