"""THBlas against PyTorch: all element types, increments, leading dimensions, transpositions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.legacy.drawing import Draw
from tests.legacy.th import DTYPES, TH, THError, th
from tests.legacy.twins import assert_same

FUNCTIONS = {"swap", "scal", "copy", "axpy", "dot", "gemv", "ger", "gemm"}
INCREMENTS = (1, 2, 3, -1, -2)
DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.values())


@pytest.fixture(scope="module")
def lib() -> TH:
    return th()


class Memory:
    """A tensor's memory in C, and a call of BLAS with it."""

    def __init__(self, lib: TH, dtype: torch.dtype) -> None:
        self.lib, self.dtype, self.draw = lib, dtype, Draw(7, dtype)

    def new(self, *shape: int) -> Tensor:
        return self.draw.values(shape).contiguous()

    def call(self, name: str, *arguments: Any) -> Any:
        passed = [
            self.lib.ffi.cast("void *", value.data_ptr()) if isinstance(value, Tensor) else value for value in arguments
        ]
        return self.lib.call(f"TH{DTYPES[self.dtype]}Blas_{name}", *passed)


@pytest.fixture
def memory(lib: TH, dtype: torch.dtype) -> Memory:
    return Memory(lib, dtype)


def vector(x: Tensor, count: int, step: int) -> Tensor:
    """What BLAS sees: with a negative step it begins at the end."""
    places = torch.arange(count) * abs(step)
    return x[places if step > 0 else places.flip(0)]


def put(x: Tensor, count: int, step: int, values: Tensor) -> Tensor:
    places = torch.arange(count) * abs(step)
    made = x.clone()
    made[places if step > 0 else places.flip(0)] = values
    return made


@pytest.mark.slow
@DTYPE
@pytest.mark.parametrize("incx", INCREMENTS)
@pytest.mark.parametrize("incy", [1, 2, -3])
def test_level_1(memory: Memory, dtype: torch.dtype, incx: int, incy: int) -> None:
    for n in (0, 1, 5):
        x, y, a = memory.new(20), memory.new(20), 2
        vx, vy = vector(x, n, incx), vector(y, n, incy)
        expected = {
            "axpy": put(y, n, incy, vy + a * vx),
            "copy": put(y, n, incy, vx),
            "swap": put(y, n, incy, vx),
        }
        for name, value in expected.items():
            gx, gy = x.clone(), y.clone()
            memory.call(name, n, *((a,) if name == "axpy" else ()), gx, incx, gy, incy)
            assert_same(gy, value, dtype)
            assert_same(gx, put(x, n, incx, vy) if name == "swap" else x, dtype)
        assert_same(
            torch.tensor(memory.call("dot", n, x, incx, y, incy), dtype=dtype), (vx * vy).sum(dtype=dtype), dtype
        )


@DTYPE
def test_scal(memory: Memory, dtype: torch.dtype) -> None:
    x = memory.new(20)
    for n, a, inc in ((0, 2, 1), (5, 3, 1), (5, 3, 2), (5, 0, 1), (5, 3, -1)):
        given = x.clone()
        memory.call("scal", n, a, given, inc)
        count = n if inc > 0 else 0
        assert_same(given, put(x, count, abs(inc), vector(x, count, abs(inc)) * a), dtype)


def matrix(a: Tensor, rows: int, columns: int, ld: int) -> Tensor:
    return a.as_strided((rows, columns), (1, ld))


@DTYPE
@pytest.mark.parametrize("trans", ["n", "T"])
@pytest.mark.parametrize(("incx", "incy"), [(1, 1), (2, 3), (-1, 2), (1, -2)])
def test_gemv(memory: Memory, dtype: torch.dtype, trans: str, incx: int, incy: int) -> None:
    for m, n, lda, alpha, beta in ((3, 4, 3, 2, 1), (4, 2, 6, 1, 0), (1, 1, 1, 3, 2), (3, 0, 3, 1, 2), (0, 3, 1, 1, 2)):
        a, x, y = memory.new(60), memory.new(30), memory.new(30)
        op = matrix(a, m, n, lda).t() if trans == "T" else matrix(a, m, n, lda)
        vx, vy = vector(x, op.shape[1], incx), vector(y, op.shape[0], incy)
        product = (op.double() @ vx.double() * alpha + vy.double() * beta).to(
            torch.int64 if not dtype.is_floating_point else dtype
        )
        expected = put(y, op.shape[0], incy, product.to(dtype))
        if n == 0:
            expected = y * 1 if op.shape[0] == 0 else put(y, op.shape[0], incy, vy * beta)
        memory.call("gemv", trans.encode(), m, n, alpha, a, lda, x, incx, beta, y, incy)
        assert_same(y, expected, dtype)


@DTYPE
def test_ger(memory: Memory, dtype: torch.dtype) -> None:
    for m, n, lda, incx, incy in ((3, 4, 3, 1, 1), (3, 2, 5, 2, -1), (0, 2, 1, 1, 1), (1, 1, 1, 1, 1)):
        a, x, y = memory.new(60), memory.new(30), memory.new(30)
        expected = a.clone()
        matrix(expected, m, n, lda).add_(torch.outer(vector(x, m, incx), vector(y, n, incy)), alpha=2)
        memory.call("ger", m, n, 2, x, incx, y, incy, a, lda)
        assert_same(a, expected, dtype)


@DTYPE
@pytest.mark.parametrize("transa", ["n", "t"])
@pytest.mark.parametrize("transb", ["N", "C"])
def test_gemm(memory: Memory, dtype: torch.dtype, transa: str, transb: str) -> None:
    for m, n, k, more, alpha, beta in (
        (3, 4, 2, 0, 2, 1),
        (2, 2, 5, 3, 1, 0),
        (1, 1, 1, 0, 3, 2),
        (3, 2, 0, 0, 1, 2),
        (0, 2, 2, 0, 1, 1),
    ):
        rows_a, rows_b = (k if transa == "t" else m), (n if transb == "C" else k)
        lda, ldb, ldc = (max(rows, 1) + more for rows in (rows_a, rows_b, m))
        a, b, c = (memory.new(64) for _ in range(3))
        left = matrix(a, k, m, lda).t() if transa == "t" else matrix(a, m, k, lda)
        right = matrix(b, n, k, ldb).t() if transb == "C" else matrix(b, k, n, ldb)
        expected = c.clone()
        product = (left.double() @ right.double()).long() if not dtype.is_floating_point else left @ right
        matrix(expected, m, n, ldc).mul_(beta).add_(product.to(dtype), alpha=alpha)
        memory.call("gemm", transa.encode(), transb.encode(), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        assert_same(c, expected, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("gemm", (b"x", b"n", 1, 1, 1, 1, 1, 1, 1, 1), "invalid argument 1: expected 'n', 't' or 'c', got 'x'"),
        ("gemm", (b"n", b"n", 4, 4, 4, 1, 2, 4, 0, 4), "invalid argument 8: the leading dimension is 2"),
        ("gemm", (b"n", b"n", 4, 4, 4, 1, 4, 4, 0, 2), "invalid argument 13: the leading dimension is 2"),
        ("gemm", (b"n", b"n", -1, 4, 4, 1, 4, 4, 0, 4), "invalid argument 3: expected at least 0, got -1"),
    ],
)
def test_bad_sizes(memory: Memory, name: str, arguments: tuple[Any, ...], text: str) -> None:
    x = memory.new(64)
    ta, tb, m, n, k, alpha, lda, ldb, beta, ldc = arguments
    with pytest.raises(THError, match=text):
        memory.call(name, ta, tb, m, n, k, alpha, x, lda, x.clone(), ldb, beta, x.clone(), ldc)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64], ids=str)
def test_bad_vectors(memory: Memory) -> None:
    x = memory.new(64)
    for arguments, text in (
        ((b"n", 2, 2, 1, x, 2, x, 0, 1, x, 1), "invalid argument 8: the increment can't be 0"),
        ((b"n", 2, 2, 1, x, 2, x, 1, 1, x, 0), "invalid argument 11: the increment can't be 0"),
        ((b"n", 2, 2, 1, x, 1, x, 1, 1, x, 1), "invalid argument 6: the leading dimension is 1"),
    ):
        with pytest.raises(THError, match=text):
            memory.call("gemv", *arguments)
