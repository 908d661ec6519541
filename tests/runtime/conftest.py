"""Inputs that require a gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch


@pytest.fixture
def leaf() -> Callable[..., torch.Tensor]:
    """Random tensors between 0.5 and 1.5 that require a gradient: ``leaf(2, 3)``."""
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return (torch.rand(shape, generator=generator, dtype=dtype) + 0.5).requires_grad_()

    return make
