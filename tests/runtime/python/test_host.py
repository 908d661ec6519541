"""The services of the Python runtime, called as kernels call them: through the table of C functions."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Iterator
from ctypes import c_double, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import pytest
import torch

from opwright.runtime.python import host
from opwright.runtime.python.host import taken
from opwright.signature import DType

BODY = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, c_int64, c_int64, c_int64, BODY, c_void_p)
NUM_THREADS = ctypes.CFUNCTYPE(c_int32)
ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
GEMM = ctypes.CFUNCTYPE(
    c_int32, c_int32, c_int32, c_int32, c_int64, c_int64, c_int64, c_double,
    c_void_p, c_int64, c_void_p, c_int64, c_double, c_void_p, c_int64,
)  # fmt: skip
FLOATING = [DType.F32, DType.F64, DType.F16, DType.BF16]


def service(name: str, prototype: Any) -> Any:
    return prototype(getattr(host.host(), name))


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield 2
    torch.set_num_threads(before)


def test_threads_are_used_and_the_gil_is_free(threads: int) -> None:
    """Each piece waits for the other one: a loop in one thread would never come to its end."""
    barrier, seen = threading.Barrier(threads), []

    def body(_context: int | None, begin: int, end: int) -> None:
        barrier.wait(timeout=60)
        seen.append((threading.get_ident(), begin, end))

    service("parallel_for", PARALLEL_FOR)(10, 20, 1, BODY(body), None)
    assert len({ident for ident, _, _ in seen}) == threads
    assert sorted(i for _, begin, end in seen for i in range(begin, end)) == list(range(10, 20))


@pytest.mark.parametrize("missing", [False, True])
def test_a_body_gets_its_context_and_every_index(missing: bool, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    if missing:  # a build of PyTorch without that function
        monkeypatch.setattr(host, "_torch_parallel_for", lambda: None)
    seen: list[tuple[int | None, int]] = []
    body = BODY(lambda context, begin, end: seen.extend((context, i) for i in range(begin, end)))
    service("parallel_for", PARALLEL_FOR)(3, 1000, 10, body, 4321)
    assert sorted(seen) == [(4321, i) for i in range(3, 1000)]
    service("parallel_for", PARALLEL_FOR)(5, 5, 0, body, None)
    assert len(seen) == 997


def test_nested_loops(threads: int) -> None:
    seen: list[int] = []
    inner = BODY(lambda _context, begin, end: seen.extend(range(begin, end)))
    outer = BODY(lambda _context, begin, end: service("parallel_for", PARALLEL_FOR)(begin, end, 1, inner, None))
    service("parallel_for", PARALLEL_FOR)(0, 100, 1, outer, None)
    assert sorted(seen) == list(range(100))


def test_an_error_in_the_service_waits_for_the_kernels_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("no closure")

    monkeypatch.setattr(host, "_piece", fails)
    service("parallel_for", PARALLEL_FOR)(0, 10, 1, BODY(lambda *_: None), None)
    error = taken()
    assert (type(error), str(error)) == (MemoryError, "no closure")
    assert taken() is None


def test_num_threads_is_pytorchs(threads: int) -> None:
    assert service("num_threads", NUM_THREADS)() == threads == torch.get_num_threads()


def test_memory() -> None:
    allocate, release = service("allocate", ALLOCATE), service("release", RELEASE)
    blocks = [allocate(size, None) for size in (1, 63, 4096, 10**6)]
    assert all(address % 64 == 0 for address in blocks)
    assert len(host._blocks) == len(blocks)
    ctypes.memset(blocks[-1], 1, 10**6)
    for address in blocks:
        release(address, None)
    release(None, None)
    release(12345, None)  # nobody's
    assert not host._blocks
    assert allocate(2**61, None) is None
    assert allocate(2**64 - 1, None) is None
    assert taken() is None


def multiply(dtype: DType, ta: bool, tb: bool, sizes: tuple[int, int, int], alpha: float, beta: float) -> Any:
    """What the service makes of padded random matrices, and what it should."""
    m, n, k = sizes
    generator = torch.Generator().manual_seed(0)
    stored = [(k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n)]
    kind = getattr(torch, dtype.torch_name)
    a, b, c = (torch.randn(rows, columns + 3, generator=generator).to(kind) for rows, columns in stored)
    left, right, old = (t[:, :columns].double() for t, (_, columns) in zip((a, b, c), stored, strict=True))
    expected = alpha * torch.mm(left.t() if ta else left, right.t() if tb else right) + beta * old
    pointers = [t.data_ptr() for t in (a, b, c)]
    lds = [t.shape[1] for t in (a, b, c)]
    status = service("gemm", GEMM)(
        dtype.code, ta, tb, m, n, k, alpha, pointers[0], lds[0], pointers[1], lds[1], beta, pointers[2], lds[2]
    )
    assert status == 0
    return c[:, :n].double(), expected


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_gemm(dtype: DType) -> None:
    close = {DType.F64: 1e-12, DType.F32: 1e-4}.get(dtype, 0.15)
    for ta, tb in itertools.product((False, True), repeat=2):
        for sizes in ((3, 4, 5), (1, 1, 1), (17, 9, 33), (2, 3, 0), (0, 3, 2), (3, 0, 2)):
            for alpha, beta in ((1.0, 0.0), (-0.5, 2.0)):
                got, expected = multiply(dtype, ta, tb, sizes, alpha, beta)
                torch.testing.assert_close(got, expected, rtol=close, atol=close)


@pytest.mark.parametrize(
    "changed",
    [{0: DType.I32.code}, {0: 99}, {3: -1}, {5: 9}, {8: 1}, {10: 1}, {13: 1}],
    ids=["integers", "no type", "negative", "k beyond the rows", "lda", "ldb", "ldc"],
)
def test_gemm_refuses(changed: dict[int, int]) -> None:
    t = torch.zeros(4, 4)
    arguments: list[Any] = [6, 0, 0, 4, 4, 4, 1.0, t.data_ptr(), 4, t.data_ptr(), 4, 0.0, t.data_ptr(), 4]
    for position, value in changed.items():
        arguments[position] = value
    assert service("gemm", GEMM)(*arguments) == 1


def test_an_error_in_gemm_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(host, "_multiply", fails)
    t = torch.zeros(4, 4)
    p = t.data_ptr()
    assert service("gemm", GEMM)(6, 0, 0, 4, 4, 4, 1.0, p, 4, p, 4, 0.0, p, 4) == 1
    assert taken() is None
