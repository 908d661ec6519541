"""Axes in kernels: a parameter that has an axis's name gets its size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.autograd import gradcheck

import opwright
from opwright import KernelError, Operators

Leaf = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "size_ops.cpp")


def test_axes_anywhere_among_the_parameters(ops: Operators) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y, sizes = ops.every(x, 2, torch.zeros(5))
    assert torch.equal(y, x[:, ::2].sum(1))
    assert sizes.tolist() == [3, 4, 5, 2]
    assert ops.every(x, 1, None)[1].tolist() == [3, 4, 0, 1]  # nothing that is there has L


def test_gradients(ops: Operators, leaf: Leaf) -> None:
    assert gradcheck(ops.weigh, (leaf(3, 4), leaf(3)))
    assert gradcheck(ops.total, leaf(2, 3))


def test_batched_kernels_have_them_too(ops: Operators) -> None:
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(ops.mean(x), x.mean(-1))
    torch.testing.assert_close(torch.vmap(ops.mean)(x), x.mean(-1))


def test_a_size_that_does_not_fit_the_parameter(ops: Operators) -> None:
    x = torch.zeros(1, dtype=torch.float16)
    assert ops.narrow(x.expand(2**31 - 1)).item() == 2**31 - 1
    with pytest.raises(KernelError, match=r"N is 2147483648, which doesn't fit the kernel's parameter of 4 bytes"):
        ops.narrow(x.expand(2**31))
