"""Pointwise operators whose CUDA kernels run on the CPU."""

from __future__ import annotations

import pytest

import opwright
from opwright import Operators
from tests.conftest import KERNELS
from tests.runtime import conftest as runtime

leaf = runtime.leaf
random_calls = runtime.random_calls


@pytest.fixture(scope="session")
def pointwise() -> Operators:
    """As for the CPU."""
    return opwright.load(KERNELS / "pointwise_ops.cpp", backend="emulate")


@pytest.fixture(scope="session")
def bodies() -> Operators:
    """As for the CPU."""
    return opwright.load(KERNELS / "bodies.cpp", backend="emulate")
