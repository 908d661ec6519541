"""Rewrites matrix products of TH's BLAS, ``THFloatBlas_gemm(...)``, as calls of a function written into the source.

PyTorch has no public product of matrices behind pointers. The function makes tensors of them for ``at::addmm_out``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.aten.compat.api_changes import Name
from opwright.migrate.cpp_text import CppText
from opwright.sources.cpp.edits import Edit

_GEMM = re.compile(r"TH(Float|Double)Blas_gemm")

# The guard is for a source and its header that both got it.
GEMM = """\
#include <torch/types.h>

#ifndef COLUMN_MAJOR_GEMM
#define COLUMN_MAJOR_GEMM
// c = alpha * op(a) * op(b) + beta * c for column-major matrices; op transposes for 't' and 'c'. op(a) is m x k.
template <class T>
inline void column_major_gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,
                              int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc) {
  const auto matrix = [](const T *data, char trans, int64_t rows, int64_t columns, int64_t ld) {
    const bool transposed = trans != 'n' && trans != 'N';
    const int64_t strides[] = {transposed ? ld : 1, transposed ? 1 : ld};
    return at::from_blob(const_cast<T *>(data), {rows, columns}, strides,
                         at::dtype(c10::CppTypeToScalarType<T>::value));
  };
  at::NoGradGuard no_grad;
  at::Tensor out = matrix(c, 'n', m, n, ldc);
  at::addmm_out(out, out, matrix(a, transa, m, k, lda), matrix(b, transb, k, n, ldb), beta, alpha);
}
#endif
"""


def gemm(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Rename a call of TH's gemm, whose arguments stay; TH's other BLAS functions are left as they are."""
    del name, behind
    if match := _GEMM.fullmatch(source.tokens[first].text):
        yield source.replaced(first, first + 1, f"column_major_gemm<{match[1].lower()}>")
