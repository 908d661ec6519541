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
EXECUTION_FAILED, INVALID, NOT_INITIALIZED, ZERO_PIVOT = 6, 3, 1, 9


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


def pattern(full: torch.Tensor) -> torch.Tensor:
    return (full != 0).to(full.dtype)


@pytest.mark.parametrize("shared", [0, 1])
def test_batches(sparse: Library, shared: int) -> None:
    first = drawn(5, 4)
    full = torch.stack([first] if shared else [first, -2 * first, first.square()])  # the same elements aren't zero
    arrays = [torch.stack(each) for each in zip(*(compressed(each, CSR) for each in full), strict=True)]
    b, c = torch.randn(3, 4, 2), torch.full((3, 5, 2), float("nan"))
    sparse.right("batched_spmm", 3, 5, 4, arrays[2].shape[1], *arrays, shared, b, 2, c)
    torch.testing.assert_close(c, full @ b)


@pytest.mark.parametrize(("a_op", "b_op"), [(0, 0), (1, 0), (0, 1), (2, 2)])
def test_sampled_product(sparse: Library, a_op: int, b_op: int) -> None:
    dtype = torch.complex64 if a_op == 2 else torch.float64
    into, a, b = drawn(5, 6, dtype), torch.randn(5, 3, dtype=dtype), torch.randn(3, 6, dtype=dtype)
    alpha, beta = torch.tensor([2], dtype=dtype), torch.tensor([0.5], dtype=dtype)
    expected = compressed((2 * (a @ b) * pattern(into) + 0.5 * into), CSR)
    arrays = compressed(into, CSR)
    a_stored = [a, a.mT, a.mH][a_op].resolve_conj().contiguous()
    b_stored = [b, b.mT, b.mH][b_op].resolve_conj().contiguous()
    sparse.right(
        "sddmm", a_op, b_op, alpha, a_stored, *a_stored.shape, b_stored, *b_stored.shape, beta, 5, 6, len(arrays[2]),
        *arrays, TYPES[dtype],
    )  # fmt: skip
    torch.testing.assert_close(arrays[2], expected[2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_sparse_product(sparse: Library, dtype: torch.dtype) -> None:
    a, b = drawn(6, 5, dtype), drawn(5, 7, dtype)
    left, right = compressed(a, CSR), compressed(b, CSR)
    expected = compressed(3 * (a @ b), CSR)  # no sum is zero by chance
    got, products = [torch.empty_like(each) for each in expected], torch.zeros(1, dtype=torch.int64)
    alpha = torch.tensor([3], dtype=dtype)
    sparse.right(
        "spgemm", 6, 5, 7, len(left[2]), *left, len(right[2]), *right, alpha, len(expected[2]), *got, TYPES[dtype],
        products,
    )  # fmt: skip
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert products.item() == (pattern(a).real @ pattern(b).real).sum()


@pytest.mark.parametrize("vector", [0, 1])
@pytest.mark.parametrize("op", [0, 1, 2])
@pytest.mark.parametrize(("upper", "unit"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_triangular_systems(sparse: Library, vector: int, op: int, upper: int, unit: int) -> None:
    dtype = torch.complex64 if op == 2 else torch.float64
    full = drawn(6, 6, dtype) + 3 * torch.eye(6, dtype=dtype)  # both triangles: one of them is looked at
    width = 1 if vector else 3
    b, c = torch.randn(6, width, dtype=dtype), torch.empty(6, width, dtype=dtype)
    arrays, alpha = compressed(full, CSR), torch.tensor([2], dtype=dtype)
    sparse.right(
        "triangular", vector, 6, len(arrays[2]), *arrays, TYPES[dtype], op, upper, unit, alpha, b, width, c
    )  # fmt: skip
    triangle = torch.triu(full) if upper else torch.tril(full)
    turned = (triangle, triangle.mT, triangle.mH)[op]
    is_upper = bool(upper) != bool(op)
    expected = torch.linalg.solve_triangular(turned, 2 * b, upper=is_upper, unitriangular=bool(unit))
    torch.testing.assert_close(c, expected)


@pytest.mark.parametrize("base", [0, 1])
def test_incomplete_factorization(sparse: Library, base: int) -> None:
    full = torch.randn(6, 6, dtype=torch.float64) + 9 * torch.eye(6, dtype=torch.float64)
    arrays, pivot = compressed(full, CSR, base=base), torch.zeros(1, dtype=torch.int32)
    sparse.right("ilu", 6, 36, *arrays, base, pivot)  # of a full matrix it is LU
    both = arrays[2].view(6, 6)
    lower, upper = torch.tril(both, -1) + torch.eye(6, dtype=torch.float64), torch.triu(both)
    torch.testing.assert_close(lower @ upper, full)
    assert pivot.item() == -1
    band = torch.triu(torch.tril(full, 1), -1)  # nothing fills in
    arrays = compressed(band, CSR, base=base)
    sparse.right("ilu", 6, len(arrays[2]), *arrays, base, pivot)
    both = torch.sparse_csr_tensor(arrays[0] - base, arrays[1] - base, arrays[2], check_invariants=True).to_dense()
    lower, upper = torch.tril(both, -1) + torch.eye(6, dtype=torch.float64), torch.triu(both)
    torch.testing.assert_close(lower @ upper, band)
    holed = full.clone()
    holed[3, 3] = 0
    holed[3, :3] = 0
    arrays = compressed(holed, CSR, base=base)
    assert sparse("ilu", 6, len(arrays[2]), *arrays, base, pivot) == ZERO_PIVOT
    assert pivot.item() == 3 + base


@pytest.mark.parametrize(("wide", "base", "dtype"), [(0, 0, torch.float32), (1, 1, torch.complex64)])
def test_sparse_vectors(sparse: Library, wide: int, base: int, dtype: torch.dtype) -> None:
    at, x, y = torch.tensor([5, 0, 3]), torch.randn(3, dtype=dtype), torch.randn(7, dtype=dtype)
    indices = (at + base).to(torch.int64 if wide else torch.int32)
    alpha, beta = torch.tensor([2], dtype=dtype), torch.tensor([0.5], dtype=dtype)
    given = (7, 3, indices)
    rest = (TYPES[dtype], None, 0)
    result = y.clone()
    sparse.right("sparse_vector", 0, *given, x, wide, base, alpha, beta, result, *rest)
    torch.testing.assert_close(result, (0.5 * y).index_add(0, at, 2 * x))
    taken = torch.empty_like(x)
    sparse.right("sparse_vector", 1, *given, taken, wide, base, None, None, y, *rest)
    assert torch.equal(taken, y[at])
    result = y.clone()
    sparse.right("sparse_vector", 2, *given, x, wide, base, None, None, result, *rest)
    assert torch.equal(result, y.index_copy(0, at, x))
    product = torch.empty(1, dtype=dtype)
    sparse.right("sparse_vector", 3, *given, x, wide, base, None, None, y, TYPES[dtype], product, 2)
    torch.testing.assert_close(product[0], (x.conj() * y[at]).sum())
    beyond = indices.clone()
    beyond[1] = 7 + base
    assert sparse("sparse_vector", 1, 7, 3, beyond, taken, wide, base, None, None, y, *rest) == EXECUTION_FAILED


@pytest.mark.parametrize("base", [0, 1])
def test_by_columns_from_by_rows(sparse: Library, base: int) -> None:
    full = drawn(5, 7)
    arrays, expected = compressed(full, CSR, base=base), compressed(full, CSC, base=base)
    for numeric in (1, 0):
        got = [torch.zeros_like(each) for each in expected]
        offsets, columns, values = arrays
        sparse.right("turned", 5, 7, len(values), values, offsets, columns, got[2], got[0], got[1], numeric, base)
        assert torch.equal(got[0], expected[0])
        assert torch.equal(got[1], expected[1])
        assert torch.equal(got[2], expected[2] * numeric)


def test_rows_are_sorted(sparse: Library) -> None:
    offsets = torch.tensor([0, 3, 3, 5], dtype=torch.int32)
    columns, order = torch.tensor([4, 0, 2, 3, 1], dtype=torch.int32), torch.empty(5, dtype=torch.int32)
    sparse.right("sorted", 3, 5, 5, offsets, columns, order)
    assert columns.tolist() == [0, 2, 4, 1, 3]
    assert order.tolist() == [1, 2, 0, 4, 3]


def test_elements_that_arent_zero_are_counted(sparse: Library) -> None:
    full, count = drawn(5, 4, torch.float64), torch.zeros(1, dtype=torch.int32)
    for axis in (0, 1):
        each = torch.empty(full.shape[axis], dtype=torch.int32)
        sparse.right("nnz", axis, 5, 4, by_columns(full), each, count)
        assert torch.equal(each, (full != 0).sum(1 - axis).int())
        assert count.item() == (full != 0).sum()


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
