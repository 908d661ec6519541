// The BLAS that multiplies matrices: PyTorch's own, OpenBLAS, or a loop.
#pragma once

#include <complex>
#include <cstdint>

namespace opwright::emulation::blas {

// C = alpha op(A) op(B) + beta C, column-major; ta and tb: 'N', 'T', 'C'. With beta 0, C isn't read.
template <class T>
void multiply(char ta, char tb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b,
              int64_t ldb, T beta, T *c, int64_t ldc);

}  // namespace opwright::emulation::blas
