"""Products of matrices with an epilogue, and many small ones, against PyTorch's in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import opwright
from opwright import KernelError, Operators

SOURCE = """
#include <opwright.h>

OPWRIGHT("linear(x: T[K, M], w: T[N, K], bias: T[N]) -> (y: T[M, N], visits: i32[M])")
template <class T>
void linear(Tensor<const T, 2> x, Tensor<const T, 2> w, Tensor<const T, 1> bias, Tensor<T, 2> y, Tensor<int, 1> visits,
            int64_t M, int64_t N, int64_t K) {
  for (int64_t i = 0; i < M; ++i) visits[i] = 0;
  gemm<T>(true, true, M, N, K, 1, x.data(), M, w.data(), K, 0, y.data(), N, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < N; ++j) y(i, j) = max(T(0), y(i, j) + bias[j]);
      ++visits[i];
    }
  });
}

OPWRIGHT("rows(x: T[M, K], w: T[K, N], y: T[M, N]!, alpha: float, beta: float)")
template <class T>
void rows(Tensor<const T, 2> x, Tensor<const T, 2> w, Tensor<T, 2> y, double alpha, double beta, int64_t M, int64_t N,
          int64_t K) {
  gemm<T>(false, false, M, N, K, alpha, x.data(), K, w.data(), N, beta, y.data(), N, [](int64_t, int64_t) {});
}

OPWRIGHT("batch(a: T[B, P, Q], b: T[B2, R, S], c: T[B, M, N]!, ta: bool, tb: bool, alpha: float, beta: float)"
         " where M = P, N = S")
template <class T>
void batch(Tensor<const T, 3> a, Tensor<const T, 3> b, Tensor<T, 3> c, bool ta, bool tb, double alpha, double beta,
           int64_t B, int64_t B2) {
  const int64_t m = c.size(1), n = c.size(2), k = a.size(ta ? 1 : 2), lda = a.size(2), ldb = b.size(2);
  gemm_batched<T>(B, ta, tb, m, n, k, alpha, a.data(), lda, a.size(1) * lda, b.data(), ldb,
                  B2 == 1 ? 0 : b.size(1) * ldb, beta, c.data(), n, m * n);
}

OPWRIGHT("overlapping(a: T[B, M, M], c: T[M, M]!)")
template <class T>
void overlapping(Tensor<const T, 3> a, Tensor<T, 2> c, int64_t B, int64_t M) {
  gemm_batched<T>(B, false, false, M, M, M, 1, a.data(), M, M * M, a.data(), M, M * M, 0, c.data(), M, 0);
}
"""


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load_inline("gemm_forms", cpp=SOURCE)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def assert_close(found: torch.Tensor, expected: torch.Tensor, length: int) -> None:
    eps = torch.finfo(found.dtype).eps
    torch.testing.assert_close(found.double(), expected, rtol=8 * eps, atol=8 * eps * (length + 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("sizes", [(700, 300, 40), (5, 7, 3), (33, 9000, 2), (0, 3, 2), (3, 0, 2), (4, 5, 0)])
@pytest.mark.usefixtures("threads")
def test_an_epilogue_has_every_row_once(ops: Operators, dtype: torch.dtype, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    x, w, bias = (torch.randn(*shape).to(dtype) for shape in ((k, m), (n, k), (n,)))
    y, visits = ops.linear(x, w, bias)
    assert visits.eq(1).all()
    assert_close(y, torch.relu(x.double().t() @ w.double().t() + bias.double()), k)


def test_an_epilogue_after_beta(ops: Operators) -> None:
    x, w, y = torch.randn(300, 20), torch.randn(20, 70), torch.randn(300, 70)
    expected = 2 * x.double() @ w.double() + 0.5 * y.double()
    ops.rows(x, w, y, 2.0, 0.5)
    assert_close(y, expected, 20)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.usefixtures("threads")
def test_batches(ops: Operators, dtype: torch.dtype, ta: bool, tb: bool) -> None:
    for n in (1, 2, 3, 4, 8, 16, 40):  # square: the named sizes hold for transposed operands, too
        for count, shared in ((0, False), (1, False), (300, False), (7, True)):
            a, b = torch.randn(count, n, n).to(dtype), torch.randn(1 if shared else count, n, n).to(dtype)
            left, right = (t.double().mT if flip else t.double() for t, flip in ((a, ta), (b, tb)))
            for alpha, beta in ((1.0, 0.0), (-0.5, 2.0), (0.0, 0.5)):
                c = torch.randn(count, n, n).to(dtype)
                expected = alpha * (left @ right) + beta * c.double()
                if beta == 0:
                    c.fill_(torch.nan)
                ops.batch(a, b, c, ta, tb, alpha, beta)
                assert_close(c, expected, n)


def test_one_result_for_several_products(ops: Operators) -> None:
    ops.overlapping(torch.ones(1, 2, 2), torch.ones(2, 2))
    with pytest.raises(KernelError, match="stride_c is 0, but each of the 3 products has its own C"):
        ops.overlapping(torch.ones(3, 2, 2), torch.ones(2, 2))
