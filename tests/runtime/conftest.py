"""Inputs that require a gradient, and random calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from opwright import Operators
from opwright.signature import Sample, TensorSample, sample


@pytest.fixture
def leaf() -> Callable[..., torch.Tensor]:
    """Random tensors between 0.5 and 1.5 that require a gradient: ``leaf(2, 3)``."""
    generator = torch.Generator().manual_seed(0)

    def make(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return (torch.rand(shape, generator=generator, dtype=dtype) + 0.5).requires_grad_()

    return make


@pytest.fixture
def random_calls() -> Callable[..., Iterator[tuple[Sample, dict[str, Any]]]]:
    """Calls of an operator by its signature, each with its arguments by name: ``random_calls(ops, "f", 100)``."""

    def draw(
        ops: Operators, name: str, count: int, seed: int = 0, **options: Any
    ) -> Iterator[tuple[Sample, dict[str, Any]]]:
        signature = ops.__loaded__.registered[name].kernel.signature
        rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        for _ in range(count):
            drawn = sample(signature, rng, **options)
            tensors = {n: None if made is None else _tensor(made, generator) for n, made in drawn.tensors.items()}
            yield drawn, {**tensors, **drawn.scalars}

    return draw


def _tensor(made: TensorSample, generator: torch.Generator) -> torch.Tensor:
    values = torch.rand(made.storage_size, generator=generator, dtype=torch.float64) * (made.high - made.low) + made.low
    dtype = getattr(torch, made.dtype.torch_name)
    storage = values.floor().to(dtype) if made.dtype.is_integer else values.to(dtype)
    return storage.as_strided(made.shape, made.strides, made.offset)
