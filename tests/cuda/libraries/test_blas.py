"""cuBLAS's functions against PyTorch in float64: element types, transposes, leading dimensions, batches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .conftest import Library, by_columns, from_columns

TYPES = {"S": torch.float32, "D": torch.float64, "C": torch.complex64, "Z": torch.complex128}
OPS = (lambda a: a, lambda a: a.mT, lambda a: a.mH)
LARGE = 180  # so large that the product goes to a BLAS


@pytest.fixture(scope="module")
def blas(built: Callable[[str], Library]) -> Library:
    """Its functions."""
    return built("blas_functions")


@pytest.fixture(params=list(TYPES))
def letter(request: pytest.FixtureRequest) -> str:
    """The letter of an element type."""
    return str(request.param)


def assert_near(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare with a result in float64."""
    single = got.dtype in (torch.float32, torch.complex64)
    wide = torch.complex128 if got.is_complex() else torch.float64
    size = float(expected.abs().max()) if expected.numel() else 1.0
    torch.testing.assert_close(got.to(wide), expected.to(wide), rtol=0, atol=(3e-5 if single else 1e-12) * max(size, 1))


def drawn(letter: str, *shape: int) -> torch.Tensor:
    """Random numbers of a type."""
    return torch.randn(*shape, dtype=TYPES[letter])


def one(letter: str, value: complex) -> torch.Tensor:
    """A scalar."""
    return torch.tensor([value if TYPES[letter].is_complex else value.real], dtype=TYPES[letter])


def wide(x: torch.Tensor) -> torch.Tensor:
    """The same in float64."""
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


@pytest.mark.parametrize("size", [1, 7, LARGE])
@pytest.mark.parametrize(("ta", "tb"), [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_gemm(blas: Library, letter: str, ta: int, tb: int, size: int) -> None:
    m, n, k = size, size + 2, size + 1
    a, b = drawn(letter, *((m, k) if ta == 0 else (k, m))), drawn(letter, *((k, n) if tb == 0 else (n, k)))
    alpha, beta, c = one(letter, 1.5 - 1j), one(letter, 0.5 + 2j), drawn(letter, m, n)
    memory = by_columns(c, m + 3)
    x, y = by_columns(a, len(a) + 1), by_columns(b)
    blas.right(f"{letter}gemm", ta, tb, m, n, k, alpha, x, len(a) + 1, y, len(b), beta, memory, m + 3)
    expected = wide(alpha) * OPS[ta](wide(a)) @ OPS[tb](wide(b)) + wide(beta) * wide(c)
    assert_near(from_columns(memory, m), expected)
    assert memory[:, m:].isnan().all()  # what lies between columns is left alone


def test_gemm_with_beta_0_doesnt_read_c(blas: Library, letter: str) -> None:
    a, c = drawn(letter, 5, 5), torch.full((5, 5), float("nan"), dtype=TYPES[letter])
    blas.right(f"{letter}gemm", 0, 0, 5, 5, 5, one(letter, 1), by_columns(a), 5, by_columns(a), 5, one(letter, 0), c, 5)
    assert_near(c.mT, wide(a) @ wide(a))
    blas.right(f"{letter}gemm", 0, 0, 5, 5, 5, one(letter, 0), None, 5, None, 5, one(letter, 0), c, 5)
    assert not c.any()


def pointers(*matrices: torch.Tensor) -> torch.Tensor:
    """An array of the addresses of a batch."""
    return torch.tensor([each.data_ptr() for each in matrices])


@pytest.mark.parametrize("ta", [0, 1])
def test_batches(blas: Library, letter: str, ta: int) -> None:
    m, n, k, batch = 4, 3, 5, 6
    a, b = drawn(letter, batch, *((m, k) if ta == 0 else (k, m))), drawn(letter, batch, k, n)
    c = torch.zeros(batch, m, n, dtype=TYPES[letter])
    x, y, z, w = by_columns(a), by_columns(b), by_columns(c), by_columns(c)
    alpha, beta, ld = one(letter, 2), one(letter, 0), a.shape[1]
    blas.right(f"{letter}strided", ta, 0, m, n, k, alpha, x, ld, m * k, y, k, k * n, beta, z, m, m * n, batch)
    assert_near(from_columns(z, m), 2 * OPS[ta](wide(a)) @ wide(b))
    blas.right(
        f"{letter}batched", ta, 0, m, n, k, alpha, pointers(*x), ld, pointers(*y), k, beta, pointers(*w), m, batch
    )
    assert_near(from_columns(w, m), 2 * OPS[ta](wide(a)) @ wide(b))


@pytest.mark.parametrize("t", [0, 1, 2])
def test_gemv(blas: Library, letter: str, t: int) -> None:
    m, n = 6, 4
    rows, columns = (m, n) if t == 0 else (n, m)
    a, x, y = drawn(letter, m, n), drawn(letter, columns), drawn(letter, rows)
    alpha, beta = one(letter, 2 - 1j), one(letter, 0.25 + 1j)
    strided, result = torch.zeros(columns, 2, dtype=x.dtype), y.flip(0).clone()
    strided[:, 0] = x
    blas.right(f"{letter}gemv", t, m, n, alpha, by_columns(a), m, strided, 2, beta, result, -1)  # y from its end
    expected = wide(alpha) * (OPS[t](wide(a)) @ wide(x)) + wide(beta) * wide(y)
    assert_near(result.flip(0), expected)


def test_matrices(blas: Library, letter: str) -> None:
    m, n = 5, 3
    a, b, x = drawn(letter, m, n), drawn(letter, n, m), drawn(letter, m)
    alpha, beta, c = one(letter, 2), one(letter, 3j + 1), torch.empty(n, m, dtype=TYPES[letter])
    blas.right(f"{letter}geam", 0, 2, m, n, alpha, by_columns(a), m, beta, by_columns(b), n, c, m)
    assert_near(c.mT, 2 * wide(a) + wide(beta) * wide(b).mH)
    blas.right(f"{letter}geam", 0, 0, m, n, alpha, by_columns(a), m, one(letter, 0), None, m, c, m)
    assert_near(c.mT, 2 * wide(a))
    blas.right(f"{letter}dgmm", 0, m, n, by_columns(a), m, x, c, m)
    assert_near(c.mT, wide(x)[:, None] * wide(a))
    blas.right(f"{letter}dgmm", 1, m, n, by_columns(a), m, x, c, m)
    assert_near(c.mT, wide(a) * wide(x)[:n])


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("t", [0, 1, 2])
@pytest.mark.parametrize("unit", [0, 1])
def test_triangles(blas: Library, letter: str, side: int, upper: int, t: int, unit: int) -> None:
    m, n = 4, 3
    order = n if side else m
    a = drawn(letter, order, order) + 3 * torch.eye(order)
    triangle = wide(a).triu() if upper else wide(a).tril()
    if unit:
        triangle = triangle - torch.diag(triangle.diagonal()) + torch.eye(order)
    expected = drawn(letter, m, n)
    product = wide(expected) @ OPS[t](triangle) if side else OPS[t](triangle) @ wide(expected)
    memory = by_columns(product.to(a.dtype))
    blas.right(f"{letter}trsm", side, upper, t, unit, m, n, one(letter, 2), by_columns(a), order, memory, m)
    assert_near(from_columns(memory, m), 2 * wide(expected))
    if not side and not unit and t < 2:
        x = torch.zeros(m, 2, dtype=a.dtype)
        x[:, 0] = OPS[t](triangle) @ wide(expected[:, 0])
        blas.right(f"{letter}trsv", upper, t, m, by_columns(a), m, x, 2)
        assert_near(x[:, 0], wide(expected[:, 0]))


@pytest.mark.parametrize("upper", [0, 1])
def test_symmetric(blas: Library, letter: str, upper: int) -> None:
    a, c = drawn(letter, 4, 2), drawn(letter, 4, 4)
    memory = by_columns(c)
    blas.right(f"{letter}syrk", upper, 0, 4, 2, one(letter, 2), by_columns(a), 4, one(letter, 1), memory, 4)
    whole = 2 * wide(a) @ wide(a).mT + wide(c)
    kept = whole.triu() + wide(c).tril(-1) if upper else whole.tril() + wide(c).triu(1)
    assert_near(from_columns(memory, 4), kept)


def test_symv_and_rot(blas: Library) -> None:
    a, x, y = drawn("D", 4, 4), drawn("D", 4), drawn("D", 4)
    symmetric, result = a.tril() + a.tril(-1).mT, y.clone()
    blas.right("Dsymv", 0, 4, one("D", 2), by_columns(a), x, one("D", 3), result)
    assert_near(result, 2 * symmetric @ x + 3 * y)
    first, second = x.clone(), y.clone()
    blas.right("Drot", 4, first, second, one("D", 0.6), one("D", 0.8))
    assert_near(first, 0.6 * x + 0.8 * y)
    assert_near(second, 0.6 * y - 0.8 * x)


def test_vectors(blas: Library, letter: str) -> None:
    x, y, alpha = drawn(letter, 9, 2), drawn(letter, 9, 3), one(letter, 2 - 1j)
    before, result, products = y.clone(), one(letter, 0), wide(x[:, 0])
    blas.right(f"{letter}axpy", 9, alpha, x, 2, y, 3)
    assert_near(y[:, 0], wide(alpha) * products + wide(before[:, 0]))
    assert torch.equal(y[:, 1:], before[:, 1:])
    blas.right(f"{letter}dot", 9, x, 2, y, -3, result)
    assert_near(result, torch.vdot(products, wide(y[:, 0]).flip(0))[None])
    part = x.real.dtype
    two, total = torch.zeros(1, dtype=part), torch.zeros(1, dtype=part)
    largest, smallest = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    blas.right(f"{letter}norms", 9, x, 2, two, total, largest, smallest)
    sizes = torch.view_as_real(products).abs().sum(1) if products.is_complex() else products.abs()
    assert_near(two, products.abs().square().sum().sqrt()[None])
    assert_near(total, sizes.sum()[None])
    assert (int(largest), int(smallest)) == (int(sizes.argmax()) + 1, int(sizes.argmin()) + 1)
    scaled, other, third = x.clone(), y.clone(), torch.empty(9, dtype=x.dtype)
    blas.right(f"{letter}moves", 9, alpha, scaled, 2, other, 3, third)
    assert_near(other[:, 0], wide(alpha) * products)
    assert torch.equal(scaled[:, 0], y[:, 0])
    assert torch.equal(third, y[:, 0])


def test_a_norm_doesnt_overflow(blas: Library) -> None:
    x, two, total = torch.tensor([3e30, 4e30]), torch.zeros(1), torch.zeros(1)
    places = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    blas.right("Snorms", 2, x, 1, two, total, *places)
    assert float(two) == pytest.approx(5e30)


@pytest.mark.parametrize("letter", ["S", "Z"])
def test_outer_products(blas: Library, letter: str) -> None:
    x, y, a = drawn(letter, 4), drawn(letter, 3), drawn(letter, 4, 3)
    memory = by_columns(a)
    blas.right(f"{letter}ger", 4, 3, one(letter, 2), x, 1, y, 1, memory, 4)
    assert_near(from_columns(memory, 4), 2 * torch.outer(wide(x), wide(y).conj()) + wide(a))


def test_systems(blas: Library, letter: str) -> None:
    n, batch = 5, 3
    a, right = drawn(letter, batch, n, n) + 4 * torch.eye(n).flip(0), drawn(letter, batch, n, 2)
    lu, inverse, x = by_columns(a), torch.empty(batch, n, n, dtype=a.dtype), by_columns(right)
    pivots, info = torch.zeros(batch, n, dtype=torch.int32), torch.full((batch,), 9, dtype=torch.int32)
    blas.right(f"{letter}getrf", n, pointers(*lu), n, pivots, info, batch)
    assert info.tolist() == [0] * batch
    expected, expected_pivots = torch.linalg.lu_factor(wide(a))
    assert torch.equal(pivots, expected_pivots)
    assert_near(from_columns(lu, n), expected)
    blas.right(f"{letter}getri", n, pointers(*lu), n, pivots, pointers(*inverse), n, info, batch)
    assert_near(inverse.mT @ a, torch.eye(n).expand(batch, n, n))
    for t in range(3):
        solved = x.clone()
        blas.right(f"{letter}getrs", t, n, 2, pointers(*lu), n, pivots, pointers(*solved), n, info, batch)
        assert_near(OPS[t](a) @ from_columns(solved, n), wide(right))
    again, columns = torch.empty_like(inverse), by_columns(a)
    blas.right(f"{letter}matinv", n, pointers(*columns), n, pointers(*again), n, info, batch)
    assert_near(again, wide(inverse))


def test_a_singular_system(blas: Library) -> None:
    a, info = torch.tensor([[[1.0, 2.0], [2.0, 4.0]]]), torch.zeros(1, dtype=torch.int32)
    pivots, inverse = torch.zeros(1, 2, dtype=torch.int32), torch.zeros(2, 2)
    blas.right("Sgetrf", 2, pointers(*a), 2, pivots, info, 1)
    assert int(info) == 2
    blas.right("Sgetri", 2, pointers(*a), 2, pivots, pointers(inverse), 2, info, 1)
    assert int(info) == 2


def test_least_squares(blas: Library, letter: str) -> None:
    m, n, batch = 7, 3, 2
    a, right = drawn(letter, batch, m, n), drawn(letter, batch, m, 2)
    matrix, x = by_columns(a), by_columns(right)
    info, zero = torch.full((1,), 9, dtype=torch.int32), torch.full((batch,), 9, dtype=torch.int32)
    blas.right(f"{letter}gels", m, n, 2, pointers(*matrix), m, pointers(*x), m, info, zero, batch)
    assert_near(from_columns(x, m)[:, :n], torch.linalg.lstsq(wide(a), wide(right)).solution)
    assert (int(info), zero.tolist()) == (0, [0, 0])
    assert_near(from_columns(matrix, m)[:, :n].triu().abs(), torch.linalg.qr(wide(a)).R.abs())


NUMBERS = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.int8: 3, torch.int32: 10, torch.bfloat16: 14}


@pytest.mark.parametrize("size", [6, LARGE])
@pytest.mark.parametrize(
    ("given", "result", "compute", "scale"),
    [
        (torch.float16, torch.float16, 68, torch.float32),
        (torch.float16, torch.float32, 77, torch.float32),
        (torch.bfloat16, torch.bfloat16, 68, torch.float32),
        (torch.float16, torch.float16, 64, torch.float16),
        (torch.int8, torch.int32, 72, torch.int32),
        (torch.int8, torch.float32, 68, torch.float32),
        (torch.float64, torch.float64, 70, torch.float64),
    ],
)
def test_mixed_types(
    blas: Library, given: torch.dtype, result: torch.dtype, compute: int, scale: torch.dtype, size: int
) -> None:
    m, n, k = size, size, size
    a, b = (torch.randint(-4, 5, shape).to(given) for shape in ((m, k), (n, k)))
    c = torch.randint(-4, 5, (m, n)).to(result)
    memory, alpha, beta = by_columns(c.double()).to(result), torch.tensor([2.0]), torch.tensor([1.0])
    columns = [each.mT.contiguous() for each in (a, b)]
    types = NUMBERS[given], NUMBERS[result]
    status = blas(
        "gemm_ex", m, n, k, alpha.to(scale), columns[0], types[0], columns[1], types[0], beta.to(scale), memory,
        types[1], compute,
    )  # fmt: skip
    assert status == 0
    expected = (2 * a.double() @ b.double().mT + c.double()).to(result)
    assert torch.equal(memory.mT, expected)  # small integers: exact


def test_half(blas: Library) -> None:
    a, b, c = torch.randn(4, 3).half(), torch.randn(5, 3).half(), torch.zeros(5, 4).half()
    one_half, none = torch.ones(1).half(), torch.zeros(1).half()
    blas.right("Hgemm", 4, 5, 3, one_half, a.mT.contiguous(), b.mT.contiguous(), none, c)
    torch.testing.assert_close(c.mT, (a.double() @ b.double().mT).half(), rtol=1e-3, atol=1e-3)
    result = torch.zeros(1).half()
    blas.right("dot_ex", 12, a, a, result, 2, 0)
    assert float(result) == pytest.approx(float(a.double().square().sum()), rel=1e-3)


def test_transfer_and_device_scalars(blas: Library) -> None:
    a, to = torch.arange(12.0).view(3, 4), torch.zeros(3, 2)
    assert blas("moved", 2, 3, a, 4, to, 2) == 0
    assert torch.equal(to, a[:, :2])
    assert blas("moved", 2, 3, a, 1, to, 2) == 7  # CUBLAS_STATUS_INVALID_VALUE
    x, result = torch.tensor([1.0, 2.0]), torch.zeros(1)
    blas.right("device_scalars", 2, torch.tensor([3.0]), x, result)
    assert float(result) == 45


def test_what_is_wrong_is_a_status(blas: Library) -> None:
    assert blas("refused") == 0
    name, text = torch.zeros(2, 200, dtype=torch.uint8).unbind()
    blas.right("called_what", 13, name, text)
    assert bytes(name.tolist()).split(b"\0")[0] == b"CUBLAS_STATUS_EXECUTION_FAILED"
    assert bytes(text.tolist()).split(b"\0")[0] == b"the function failed to launch on the GPU"
    blas.right("called_what", 99, name, text)
    assert bytes(name.tolist()).split(b"\0")[0] == b"unknown status"
