"""Additions to shared elements: ``atomic_add``, and ``Accumulate``, whose bits don't depend on the threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import opwright
from opwright import KernelError, Operators

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "scatter.cpp")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "dtype",
    [*FLOATS, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint32],
    ids=str,
)
def test_atomic_add_loses_nothing(ops: Operators, dtype: torch.dtype) -> None:
    at = torch.arange(900) % 3  # neighbours of fewer than four bytes share a word
    x = torch.ones(900).to(dtype)
    expected = 300 % 256 if dtype is torch.uint8 else 300 - 256 if dtype is torch.int8 else 300
    if dtype is torch.bfloat16:
        expected = 256  # 256 + 1 is 256 in bfloat16
    assert ops.counted(x, at, 3).to(torch.float64).tolist() == [expected] * 3


def test_atomic_add_returns_what_was_there(ops: Operators) -> None:
    bins = torch.arange(3000) % 7
    at, count = ops.places(bins, 7)
    for b in range(7):
        assert sorted(at[bins == b].tolist()) == list(range(int(count[b])))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_have_the_same_bits_at_any_number_of_threads(ops: Operators, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(5, 3, generator=generator).to(dtype).requires_grad_()
    at = torch.randint(0, 5, (3000,), generator=generator)
    grad = torch.randn(3000, 3, generator=generator).to(dtype)
    results = []
    for number in (1, 2, 3, 4):
        torch.set_num_threads(number)
        results.append(torch.autograd.grad(ops.embedding(w, at), w, grad)[0])
    assert all(torch.equal(result, results[0]) for result in results)
    expected = torch.zeros(5, 3, dtype=torch.float64).index_add(0, at, grad.double())
    torch.testing.assert_close(results[0], expected.to(dtype))  # added up in float, rounded once


def test_several_sums_and_absent_ones(ops: Operators) -> None:
    x, w, b = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((9, 4), (4,), (1, 1)))
    assert torch.autograd.gradcheck(ops.scaled, (x, w, b))
    for wanted in ((x,), (w,), (b,), (x, b)):
        got = torch.autograd.grad(ops.scaled(x, w, b).sum(), wanted)
        expected = torch.autograd.grad((x * w + b).sum(), wanted)
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("n", [0, 1, 2, 31, 1000])
@pytest.mark.parametrize("grain", [-1, 1, 7, 10**6])
def test_sums_that_are_added(ops: Operators, dtype: torch.dtype, n: int, grain: int) -> None:
    x, at = torch.arange(4.0).to(dtype), torch.arange(n) % 4
    value = (torch.arange(n) % 3).to(dtype)
    expected = x.double().index_add(0, at, value.double())
    pieces = ops.scatter_(x, at, value, grain, -1)
    assert torch.equal(x.double(), expected)
    assert pieces[0] == max(1, min(32, n // max(grain, 1)))


def test_large_results_have_fewer_parts(ops: Operators) -> None:
    at, value = torch.arange(1000), torch.ones(1000)
    for numel, pieces in ((2**20, 16), (2**23, 2), (2**24, 1), (2**24 + 1, 1)):
        x = torch.zeros(numel)
        assert ops.scatter_(x, at, value, 1, -1)[0] == pieces
        assert x[:1000].eq(1).all()
        assert x[1000:].eq(0).all()


def test_a_failure_in_a_piece(ops: Operators) -> None:
    with pytest.raises(KernelError, match=r"scatter_\(\): index 500 \[i != fail is false"):
        ops.scatter_(torch.zeros(4), torch.zeros(1000, dtype=torch.int64), torch.ones(1000), 1, 500)


def test_indices_of_a_view_without_a_rank(ops: Operators) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y, first = ops.transposed(x, x)
    assert torch.equal(y, x.t())
    assert first == 1
    for other, axes in ((x[0], "1 axis"), (x[None], "3 axes")):
        expected = (
            rf"transposed\(\): a view without a rank was indexed as x\(...\) with 2 indices, and its tensor has {axes}"
        )
        with pytest.raises(KernelError, match=expected):
            ops.transposed(x, other)
