"""parallel_for, workspaces, gemm, views and messages, through the whole stack."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import KernelError, Operators


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "services.cpp")


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield 4
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_gemm(ops: Operators, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    for ta, tb in itertools.product((False, True), repeat=2):
        for m, n, k in ((3, 4, 5), (1, 1, 1), (1, 7, 2), (8, 1, 3), (2, 3, 0), (0, 3, 2), (3, 0, 2), (17, 33, 65)):
            for alpha, beta in ((1.0, 0.0), (0.5, 1.0), (-2.0, 0.25), (0.0, 2.0)):
                rows = [(k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n)]
                padded = [
                    torch.randn(r, c + p, generator=generator).to(dtype)
                    for (r, c), p in zip(rows, (1, 2, 1), strict=True)
                ]
                if beta == 0:
                    padded[2].fill_(torch.nan)  # then C is not read
                a, b, c = (t[:, :columns].double() for t, (_, columns) in zip(padded, rows, strict=True))
                y = ops.multiply(*padded, ta, tb, k, alpha, beta)
                expected = alpha * (a.t() if ta else a) @ (b.t() if tb else b) + (beta * c if beta else 0)
                torch.testing.assert_close(
                    y[:, :n],
                    expected.to(dtype),
                    rtol=2e-2 if dtype.itemsize == 2 else None,
                    atol=0.2 if dtype.itemsize == 2 else None,
                )
                assert torch.equal(y[:, n:].nan_to_num(), padded[2][:, n:].nan_to_num())


def test_gemm_refuses_what_would_read_beyond_the_end(ops: Operators) -> None:
    x = torch.zeros(3, 4)
    expected = r"^multiply\(\): this runtime's gemm refused m=3 n=3 k=5 lda=4 ldb=4 ldc=4$"
    with pytest.raises(KernelError, match=expected):
        ops.multiply(x, x, x, False, False, 5, 1.0, 0.0)


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 100_000])
@pytest.mark.parametrize("grain", [-1, 0, 1, 10, 5000, 2**62])
def test_every_index_once(ops: Operators, threads: int, n: int, grain: int) -> None:
    seen, sizes, count = ops.pieces(torch.zeros(n), grain, -1)
    assert count == threads
    assert torch.equal(seen, torch.full((n,), 111, dtype=torch.int32))
    if n:
        assert sizes.min() >= min(grain, n) // 2 if grain > 1 else sizes.min() >= 1
        assert (sizes.max() < n) == (n > max(grain, 1))  # split exactly where it may be


def test_one_thread(ops: Operators, threads: int) -> None:
    torch.set_num_threads(threads - 3)
    _, sizes, count = ops.pieces(torch.zeros(1000), 1, -1)
    assert count == 1
    assert sizes.tolist() == [1000] * 1000


@pytest.mark.parametrize("grain", [1, 10**6])
def test_a_failure_in_a_body(ops: Operators, threads: int, grain: int) -> None:
    for fail in (0, 500, 999):
        with pytest.raises(KernelError, match=rf"pieces\(\): index {fail} \[i != fail is false"):
            ops.pieces(torch.zeros(1000), grain, fail)
    assert threads == 4
    assert ops.pieces(torch.zeros(10), grain, -1)[0].tolist() == [111] * 10


def test_workspace(ops: Operators) -> None:
    x = torch.arange(1.0, 5.0)
    for n in (0, 1, 3, 10000):
        expected = [x[i % n % 4].item() + 1 if n else 0.0 for i in range(4)]
        assert ops.scratch(x, n).tolist() == expected
    with pytest.raises(KernelError, match=r"^scratch\(\): a workspace can't hold -1 elements$"):
        ops.scratch(x, -1)
    with pytest.raises(KernelError, match=r"^scratch\(\): a workspace of \d+ elements is larger than memory$"):
        ops.scratch(x, 2**61)
    with pytest.raises(KernelError, match=r"^scratch\(\): no memory for a workspace of \d+ elements of 8 bytes$"):
        ops.scratch(x, 2**59)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 1), (3, 1, 2, 4), (0, 2, 2, 2), (2, 2, 2, 0)])
def test_views(ops: Operators, shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    flipped = [torch.randint(-4, 5, shape[d - 1 :: -1] if d else (), generator=generator).double() for d in range(5)]
    s, v, m, c, q = (t.permute(list(reversed(range(t.dim())))) for t in flipped)
    a, b, cc, d = (torch.arange(n, dtype=torch.float64) for n in shape)
    got, absent = ops.views(s, v, m, c, q)
    numbers = torch.arange(1, a.numel() * b.numel() + 1, dtype=torch.float64).reshape(m.shape)
    weights = a[:, None, None] + 2 * b[:, None] + 3 * cc
    expected: list[Any] = [
        s,
        (v * (a + 1)).sum(),
        (m * numbers + m).sum(),
        0,
        (c * weights).sum(),
        (q * (d - 1)).sum(),
        0,
        0,
    ]
    assert got.tolist() == [float(e) for e in expected]
    assert absent.tolist() == [0, 0, 0, 0]
    assert ops.views(s, v, m, c, q, v)[1].tolist() == [1, 1, shape[0], shape[0]]


@pytest.mark.parametrize(("dtype", "size"), [(torch.float16, 2), (torch.float64, 8)])
def test_a_message_of_every_type(ops: Operators, dtype: torch.dtype, size: int) -> None:
    with pytest.raises(KernelError) as caught:
        ops.say(torch.full((2,), 1.5, dtype=dtype))
    assert str(caught.value).startswith(
        f"say(): int -1, unsigned 2, long -3, size {size}, byte 200, char c, bool true, float 0.100000001, "
        "double 0.10000000000000001, element 1.5, text (null) 100%s [x.size(0) > 99 is false, "
    )


def test_a_message_that_is_too_long_is_cut(ops: Operators) -> None:
    with pytest.raises(KernelError) as caught:
        ops.babble(torch.zeros(1))
    assert str(caught.value) == "babble(): " + "0123456789" * 99 + "012345678"
