"""The semantics of PyTorch 1.0 for a test, and two tensors."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from opwright.legacy.autograd import CHANGES
from tests.legacy.autograd.functions import Tensors


@pytest.fixture(autouse=True)
def undo() -> Iterator[list[Callable[[], None]]]:
    applied = [change.apply() for change in CHANGES]
    yield applied
    while applied:
        applied.pop()()


@pytest.fixture
def pair() -> Tensors:
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 4, dtype=torch.float64).unbind()
    return x.clone().requires_grad_(), y.clone().requires_grad_()
