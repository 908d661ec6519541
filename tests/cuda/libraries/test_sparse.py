"""cuSPARSE's generic functions against PyTorch: formats, indices, transposes, orders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .conftest import Library, by_columns

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
CSR, CSC, COO = 1, 2, 3
COLUMNS, ROWS = 1, 2
TYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.complex64: 4}
EXECUTION_FAILED, INVALID, NOT_INITIALIZED = 6, 3, 1


@pytest.fixture(scope="module")
def sparse(built: Callable[[str], Library]) -> Library:
    """Its functions."""
    return built("sparse_functions")


def drawn(rows: int, columns: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A matrix that is mostly zero, with an empty row."""
    full = torch.randn(rows, columns, dtype=dtype) * (torch.rand(rows, columns) < 0.4)
    full[1] = 0
    return full


def compressed(full: torch.Tensor, kind: int, index: torch.dtype = torch.int32, base: int = 0) -> list[torch.Tensor]:
    """The three arrays of a format, by PyTorch."""
    if kind == COO:
        coo = full.to_sparse_coo().coalesce()
        parts = [*coo.indices(), coo.values()]
    elif kind == CSC:
        csc = full.to_sparse_csc()
        parts = [csc.ccol_indices(), csc.row_indices(), csc.values()]
    else:
        csr = full.to_sparse_csr()
        parts = [csr.crow_indices(), csr.col_indices(), csr.values()]
    return [(parts[0] + base).to(index).contiguous(), (parts[1] + base).to(index).contiguous(), parts[2].contiguous()]


@pytest.mark.parametrize("kind", [CSR, CSC, COO])
@pytest.mark.parametrize("op", [0, 1, 2])
@pytest.mark.parametrize(("wide", "base"), [(0, 0), (1, 1)])
def test_vectors(sparse: Library, kind: int, op: int, wide: int, base: int) -> None:
    dtype = torch.complex64 if op == 2 else torch.float64
    full = drawn(6, 4, dtype)
    arrays = compressed(full, kind, torch.int64 if wide else torch.int32, base)
    turned = (full, full.mT, full.mH)[op]
    x, y = torch.randn(turned.shape[1], dtype=dtype), torch.randn(turned.shape[0], dtype=dtype)
    expected = 2 * turned @ x + 0.5 * y
    alpha, beta = torch.tensor([2], dtype=dtype), torch.tensor([0.5], dtype=dtype)
    count = len(arrays[2])
    sparse.right("spmv", kind, 6, 4, count, *arrays, wide, base, TYPES[dtype], op, alpha, x, beta, y)
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("kind", [CSR, COO])
@pytest.mark.parametrize(("a_op", "b_op"), [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("order", [ROWS, COLUMNS])
def test_matrices(sparse: Library, kind: int, a_op: int, b_op: int, order: int) -> None:
    full = drawn(5, 4)
    turned = full.mT if a_op else full
    b = torch.randn(3, turned.shape[1]) if b_op else torch.randn(turned.shape[1], 3)
    expected = turned @ (b.mT if b_op else b)
    c = torch.full((len(expected), 3), float("nan"))  # isn't read where beta is 0
    stored = [each.contiguous() if order == ROWS else by_columns(each) for each in (b, c)]
    arrays, alpha, beta = compressed(full, kind), torch.ones(1), torch.zeros(1)
    sparse.right(
        "spmm", kind, 5, 4, len(arrays[2]), *arrays, 0, a_op, b_op, order, alpha, stored[0], *b.shape, beta, stored[1],
        *c.shape,
    )  # fmt: skip
    torch.testing.assert_close(stored[1] if order == ROWS else stored[1].mT, expected)


@pytest.mark.parametrize("kind", [CSR, CSC, COO])
@pytest.mark.parametrize("base", [0, 1])
def test_to_sparse_and_back(sparse: Library, kind: int, base: int) -> None:
    full = drawn(5, 7)
    expected = compressed(full, kind, base=base)
    arrays, back = [torch.empty_like(each) for each in expected], torch.empty(7, 5)
    sparse.right("round_trip", kind, 5, 7, full, *arrays, len(expected[2]), back, base)
    for got, wanted in zip(arrays, expected, strict=True):
        assert torch.equal(got, wanted)
    assert torch.equal(back.mT, full)


def test_what_is_wrong_is_a_status(sparse: Library) -> None:
    full = drawn(6, 4)
    x, y, one = torch.zeros(6), torch.zeros(6), torch.ones(1)
    offsets, indices, values = compressed(full, CSR)
    given = ("spmv", CSR, 6, 4, len(values))
    beyond = indices.clone()
    beyond[0] = 4
    assert sparse(*given, offsets, beyond, values, 0, 0, 0, 0, one, x, one, y) == EXECUTION_FAILED
    longer = offsets.clone()
    longer[-1] += 1
    assert sparse(*given, longer, indices, values, 0, 0, 0, 0, one, x, one, y) == EXECUTION_FAILED
    assert sparse(*given, None, indices, values, 0, 0, 0, 0, one, x, one, y) == EXECUTION_FAILED
    assert sparse("spmv", CSR, -1, 4, 0, offsets, indices, values, 0, 0, 0, 0, one, x, one, y) == INVALID
    assert sparse(*given, offsets, indices, values, 0, 0, 0, 0, None, x, one, y) == INVALID
    assert sparse("gone") == NOT_INITIALIZED
