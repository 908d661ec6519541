"""Products of TH's BLAS as `opwright migrate` writes them: compiled, called, and compared with sums of their own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from opwright import cpp_extension
from opwright.migrate import examine

SOURCE = """\
#include <torch/extension.h>
#include <TH/TH.h>

void product(const std::string &trans, std::vector<int64_t> sizes, double alpha, at::Tensor a, int64_t lda,
             at::Tensor b, int64_t ldb, double beta, at::Tensor c, int64_t ldc) {
  const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  if (a.scalar_type() == at::kFloat)
    THFloatBlas_gemm(trans[0], trans[1], m, n, k, alpha, a.data<float>(), lda, b.data<float>(), ldb, beta,
                     c.data<float>(), ldc);
  else
    THDoubleBlas_gemm(trans[0], trans[1], m, n, k, alpha, a.data<double>(), lda, b.data<double>(), ldb, beta,
                      c.data<double>(), ldc);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("product", &product); }
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("blas") / "old_blas.cpp"
    path.write_text(SOURCE)
    examined = examine(path)
    assert not [finding for finding in examined.findings if finding.by_hand]
    text = examined.after.decode()
    assert "TH" not in text.replace("TORCH_EXTENSION_NAME", "").replace("PYBIND11_MODULE", "")
    path.write_text(text)
    module: Any = cpp_extension.load("migrated_blas", [str(path)])
    return module.product


def column_major(rows: int, columns: int, ld: int, dtype: torch.dtype) -> torch.Tensor:
    """A matrix in columns that are `ld` apart: the memory, of `columns` rows."""
    return torch.randn(columns, ld, dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_transposes(product: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    letters = ("n", "t", "c", "N", "T", "C")
    for trans_a, trans_b, extra, (m, n, k) in itertools.product(
        letters, letters, (0, 3), ((2, 3, 4), (1, 3, 1), (4, 1, 2), (3, 2, 0), (0, 2, 3))
    ):
        rows_a, rows_b = (m if trans_a in "nN" else k), (k if trans_b in "nN" else n)
        lda, ldb, ldc = (max(1, rows) + extra for rows in (rows_a, rows_b, m))
        a = column_major(rows_a, m + k - rows_a, lda, dtype)
        b = column_major(rows_b, k + n - rows_b, ldb, dtype)
        for alpha, beta in ((1.0, 0.0), (0.5, -2.0), (0.0, 1.0)):
            c = torch.full((n, ldc), float("nan"), dtype=dtype) if beta == 0 else torch.randn(n, ldc, dtype=dtype)
            before = c.clone()
            product(trans_a + trans_b, [m, n, k], alpha, a, lda, b, ldb, beta, c, ldc)
            for i, j in itertools.product(range(m), range(n)):
                pairs = [
                    (a[p, i] if trans_a in "nN" else a[i, p], b[j, p] if trans_b in "nN" else b[p, j]) for p in range(k)
                ]
                total = sum(float(x) * float(y) for x, y in pairs)
                expected = alpha * total + (beta * float(before[j, i]) if beta else 0.0)
                assert float(c[j, i]) == pytest.approx(expected, rel=1e-5, abs=1e-5), (trans_a, trans_b, m, n, k)
            torch.testing.assert_close(c[:, m:], before[:, m:], equal_nan=True)  # between columns nothing is written
