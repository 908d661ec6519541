"""The operator that most tests call."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import opwright
from tests.aten.differentiable.functions import (
    GLU,
    glu_backward,
    glu_forward,
)


@pytest.fixture(scope="module")
def glu() -> Callable[..., torch.Tensor]:
    return opwright.differentiable(glu_forward, glu_backward, signature=GLU, namespace="differentiable_glu")
