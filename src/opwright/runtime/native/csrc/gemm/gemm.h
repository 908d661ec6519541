// C = alpha * op(A) op(B) + beta * C, row-major: by PyTorch's BLAS, or by tiles of our own (docs/gemm.md).
#pragma once
#include <cstdint>

namespace opw {

// As opw_host.gemm (abi.h) gets it.
struct Gemm {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  double alpha, beta;
  int64_t lda, ldb, ldc;

  bool is_possible() const {
    return m >= 0 && n >= 0 && k >= 0 && ldc >= n && lda >= (transpose_a ? m : k) && ldb >= (transpose_b ? k : n);
  }
  bool fits_int() const {
    constexpr int64_t limit = INT32_MAX;
    return m <= limit && n <= limit && k <= limit && lda <= limit && ldb <= limit && ldc <= limit;
  }
};

// Who multiplies. The numbers are those of `opw_gemm_by` (api.cpp).
enum class Multiplier { Chosen, Blas, Baseline, Avx2, Avx512 };

// False: `by` doesn't exist on this processor, or doesn't know the element type, or the sizes contradict each other.
bool multiply(Multiplier by, int32_t dtype, const Gemm &g, const void *a, const void *b, void *c);

// gemm_tiles.cpp: the widest that this processor has, Blas where it has none; and what they do, on PyTorch's threads where
// that pays.
Multiplier widest_tiles();
bool multiply_by_tiles(Multiplier by, bool is_double, const Gemm &g, const void *a, const void *b, void *c);

// On PyTorch's threads (host.cpp).
void parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context);

}  // namespace opw
