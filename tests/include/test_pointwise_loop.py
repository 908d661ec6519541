"""The loop of pointwise operators against brute force: any sizes, strides, element sizes and operands."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from torch import Tensor

from opwright import Operators
from tests.include.loops import check, full, load


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    return load("pointwise", Path(tmp_path_factory.mktemp("loops")))


@pytest.mark.slow
def test_calls_at_random(ops: Operators) -> None:
    check("pointwise", ops, seed=0, count=100)


@pytest.mark.exhaustive
def test_many_calls_at_random(ops: Operators) -> None:
    check("pointwise", ops, seed=1, count=5000)


def operands(*sizes: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    types = (torch.int8, torch.int16, torch.int32, torch.int64)
    return [torch.randint(-100, 100, sizes, generator=generator).to(dtype) for dtype in types]


def assert_blends(ops: Operators, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> None:
    got = ops.blend(a, b, c, d)
    a, b, c, d = full((), a, b, c, d)
    for result, expected in zip(got, (a ^ b, b ^ c, c ^ d, d ^ a), strict=True):
        assert torch.equal(result, expected.to(result.dtype))


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1000])
def test_rows_and_blocks_of_every_length(ops: Operators, length: int) -> None:
    """One operand's rows lie apart, one is a column, one a row, and one is dense."""
    a, b, c, d = operands(5, length)
    apart = torch.empty(5, length + 3, dtype=a.dtype)[:, :length].copy_(a)
    assert_blends(ops, apart, b[:, :1], c[2], d)
    assert_blends(ops, a.t().contiguous().t(), b, c[:1].expand(5, length), d[0, 0])
    assert_blends(ops, a, b, c, d)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_axes_in_every_order(ops: Operators, order: tuple[int, ...]) -> None:
    a, b, c, d = operands(4, 70, 3)
    back = [order.index(axis) for axis in range(3)]
    assert_blends(ops, a.permute(order).contiguous().permute(back), b, c, d)
    assert_blends(ops, *(each.permute(order) for each in (a, b, c, d)))


@pytest.mark.parametrize("sizes", [(), (0,), (3, 0, 2), (1,), (1, 1, 1), (1, 300, 1)])
def test_few_elements(ops: Operators, sizes: tuple[int, ...]) -> None:
    a, b, c, d = operands(*sizes)
    assert_blends(ops, a, b, c, d)
    assert_blends(ops, a, b.sum().to(b.dtype), c, d)


@pytest.mark.parametrize("strided", [False, True])
def test_more_elements_than_one_thread_takes(ops: Operators, strided: bool) -> None:
    a, b, c, d = operands(97, 517)
    if strided:
        assert_blends(ops, a.t(), b[:1].t(), c.t()[:, :1], d.t().contiguous())
    assert_blends(ops, a, b, c, d)


def test_an_operand_that_is_read_and_overwritten_in_pieces(ops: Operators) -> None:
    y = torch.arange(4 * 300, dtype=torch.int32).view(300, 4)
    z = torch.arange(4 * 300).to(torch.uint8).view(4, 300).t()
    before = y.clone(), z.clone()
    ops.push(torch.full((300, 1), 5, dtype=torch.int16), y[:, 1:3], z[:, 1:3])
    expected = before[0].clone()
    expected[:, 1:3] ^= 5
    assert torch.equal(y, expected)
    assert torch.equal(z[:, 1:3], before[1][:, 1:3] + 1)
    assert torch.equal(z[:, ::3], before[1][:, ::3])
