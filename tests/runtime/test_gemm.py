"""The runtime's products of matrices, each way of making them against PyTorch's in float64."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import torch

pytestmark = pytest.mark.skipif(os.environ.get("OPWRIGHT_RUNTIME") == "python", reason="about the native runtime")

WAYS = {"chosen": 0, "blas": 1, "baseline": 2, "avx2": 3, "avx512": 4}
DTYPES = {torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bfloat16: 15}
SCALES = ((1.0, 0.0), (0.5, 1.0), (-2.0, 0.25), (0.0, 2.0), (0.0, 0.0))
# Rows of tiles, lanes of vectors and strips of rows are all multiples of 2, up to 48: one less, none, one more.
EDGES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 65)


class Sizes(NamedTuple):
    """op(A) is m x k, op(B) is k x n."""

    m: int
    n: int
    k: int


def multiply(way: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, sizes: Sizes, *how: float) -> bool:
    """C = alpha op(A) op(B) + beta C on matrices in rows of their own lengths; how: ta, tb, alpha, beta."""
    from opwright.runtime.native.runtime import native

    ta, tb, alpha, beta = how
    return bool(
        native().gemm_by(
            WAYS[way], DTYPES[c.dtype], int(ta), int(tb), *sizes, alpha, a.data_ptr(), a.stride(0),
            b.data_ptr(), b.stride(0), beta, c.data_ptr(), c.stride(0),
        )
    )  # fmt: skip


def exists(way: str) -> bool:
    """Whether this processor has it."""
    one = torch.ones(1, 1)
    return multiply(way, one, one, one.clone(), Sizes(1, 1, 1), 0, 0, 1.0, 0.0)


def assert_multiplies(
    way: str, sizes: Sizes, dtype: torch.dtype, padding: int = 0, scales: tuple[tuple[float, float], ...] = SCALES
) -> None:
    """All four transpositions; nothing beyond C's columns is written, and C isn't read where beta is 0."""
    generator = torch.Generator().manual_seed(sum(sizes))
    m, n, k = sizes

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns + padding, generator=generator, dtype=torch.float64).to(dtype)

    for ta, tb, (alpha, beta) in itertools.product((0, 1), (0, 1), scales):
        a, b, before = matrix(*((k, m) if ta else (m, k))), matrix(*((n, k) if tb else (k, n))), matrix(m, n)
        left, right = (x[:, : x.shape[1] - padding].double() for x in (a, b))
        if beta == 0:
            before.fill_(torch.nan)
        if alpha == 0:
            a.fill_(torch.nan)
        expected = beta * before[:, :n].double() if beta else torch.zeros(m, n, dtype=torch.float64)
        if alpha:
            expected += alpha * (left.t() if ta else left) @ (right.t() if tb else right)
        after = before.clone()
        assert multiply(way, a, b, after, sizes, ta, tb, alpha, beta)
        eps = torch.finfo(dtype).eps
        torch.testing.assert_close(after[:, :n].double(), expected, rtol=4 * eps, atol=4 * eps * (k + 2))
        assert torch.equal(after[:, n:].nan_to_num(), before[:, n:].nan_to_num())


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads have a test of their own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=[way for way in WAYS if way != "blas"])
def way(request: pytest.FixtureRequest) -> str:
    if not exists(request.param):
        pytest.skip(f"this processor has no {request.param}")
    return str(request.param)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("m", EDGES)
def test_edges(way: str, m: int, dtype: torch.dtype) -> None:
    for n, k in itertools.product(EDGES, (1, 7, 16, 33)):
        assert_multiplies(way, Sizes(m, n, k), dtype, padding=(m + n + k) % 3, scales=((1.0, 0.0), (-0.5, 0.25)))


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(0, 3, 2), Sizes(3, 0, 2), Sizes(2, 3, 0), Sizes(40, 50, 0), Sizes(1, 384, 160), Sizes(16, 384, 160),
        Sizes(384, 160, 16), Sizes(3, 200, 900), Sizes(200, 3, 900), Sizes(100, 130, 900), Sizes(200, 200, 300),
    ],
    ids=str,
)  # fmt: skip
def test_sizes(way: str, sizes: Sizes, dtype: torch.dtype) -> None:
    for padding in (0, 5):
        assert_multiplies(way, sizes, dtype, padding)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("way", ["chosen", "blas"])
def test_every_element_type(way: str, dtype: torch.dtype) -> None:
    for sizes in (Sizes(3, 4, 5), Sizes(2, 3, 0), Sizes(17, 33, 65)):
        assert_multiplies(way, sizes, dtype, padding=1)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(way: str, threads: int) -> None:
    for sizes in (Sizes(16, 900, 160), Sizes(900, 16, 160), Sizes(16, 160, 900), Sizes(500, 300, 20)):
        for ta, tb in itertools.product((0, 1), repeat=2):
            a = torch.randn((sizes.k, sizes.m) if ta else (sizes.m, sizes.k))
            b = torch.randn((sizes.n, sizes.k) if tb else (sizes.k, sizes.n))
            results = [torch.empty(sizes.m, sizes.n) for _ in range(2)]
            for count, result in zip((1, threads), results, strict=True):
                torch.set_num_threads(count)
                assert multiply(way, a, b, result, sizes, ta, tb, 1.0, 0.0)
            torch.testing.assert_close(*results)


def test_beyond_the_tiles_limit() -> None:
    """A product that the BLAS is asked for unless it is slow here, and one that is always its own."""
    for sizes in (Sizes(300, 300, 300), Sizes(600, 600, 600)):
        assert_multiplies("chosen", sizes, torch.float32, scales=((1.0, 0.0),))


def test_what_is_refused() -> None:
    x = torch.ones(3, 4)
    for how in (
        (Sizes(3, 3, 5), 0, 0),
        (Sizes(5, 3, 3), 1, 0),
        (Sizes(3, 3, 5), 0, 1),
        (Sizes(3, 5, 3), 0, 0),
        (Sizes(-1, 3, 3), 0, 0),
    ):
        sizes, ta, tb = how
        for name in ("chosen", "blas"):
            assert not multiply(name, x, x, x.clone(), sizes, ta, tb, 1.0, 0.0)
    assert not multiply("avx2", x.half(), x.half(), x.half(), Sizes(3, 3, 3), 0, 0, 1.0, 0.0)
