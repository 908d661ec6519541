/* gemm, row-major, by the runtime: tiles of its own up to some millions of multiply-adds, else PyTorch's BLAS (docs/gemm.md):
 *
 *   C = alpha * op(A) op(B) + beta * C     op(A): m x k, op(B): k x n, C: m x n
 *   gemm(..., ldc, [&](int64_t begin, int64_t end) { ... })    what is done to the rows [begin, end) of C, while the cache
 *                                                              has them
 *   gemm_batched(count, ...)                                   that many products, each `stride_x` elements after the last
 *
 * op(X) is X, or its transpose where `transpose_x`. lda, ldb, ldc: elements from one stored row to the next.
 * T: float, double, half, bfloat16 (halves accumulate in float). A and B aren't read where alpha is 0, C where beta is 0.
 * With enough to do it runs on PyTorch's threads; within a parallel_for, in the calling one. It is the CPU's: in an operator of
 * a CUDA source it is refused.
 */
#ifndef OPWRIGHT_GEMM_H
#define OPWRIGHT_GEMM_H

#include "../check.h"
#include "../elements/floating.h"
#include "../host.h"
#include "parallel.h"

namespace opwright {
namespace detail {

/* What a thread is worth, in multiply-adds, and the bytes of C that a thread's part of the cache is sure to hold. */
constexpr int64_t gemm_piece = int64_t(1) << 19, gemm_panel = int64_t(1) << 16;

inline int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

template <class T>
struct gemm_dtype;
template <> struct gemm_dtype<float> { static constexpr int value = OPW_F32; };
template <> struct gemm_dtype<double> { static constexpr int value = OPW_F64; };
template <> struct gemm_dtype<float16> { static constexpr int value = OPW_F16; };
template <> struct gemm_dtype<bfloat16> { static constexpr int value = OPW_BF16; };

#ifdef OPWRIGHT_CUDA_TEXT
inline bool in_cuda_operator(); /* cuda.h */
#endif

inline void require_cpu() {
#ifdef OPWRIGHT_CUDA_TEXT
  if (in_cuda_operator())
    refuse(
        "gemm multiplies on the CPU, and this is an operator of a CUDA source\n"
        "  likely fix: multiply with PyTorch, around the operator (torch.addmm), or call cuBLAS");
#endif
}

/* Products so small that the way to the runtime takes longer: n = N columns of C stay in registers. */
template <int N, class T>
void gemm_narrow(bool transpose_a, int64_t m, int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb,
                 T beta, T *c, int64_t ldc) {
  const int64_t next_row = transpose_a ? 1 : lda, next_column = transpose_a ? lda : 1;
  for (int64_t i = 0; i < m; ++i, a += next_row, c += ldc) {
    T row[N] = {};
    for (int64_t p = 0; p < k; ++p)
      for (int j = 0; j < N; ++j) row[j] += a[p * next_column] * b[p * ldb + j];
    for (int j = 0; j < N; ++j) c[j] = beta == 0 ? alpha * row[j] : alpha * row[j] + beta * c[j];
  }
}

/* The function for so many columns; none: they are for the runtime. */
template <class T>
auto narrow_gemm(bool transpose_b, int64_t m, int64_t n, int64_t k) -> decltype(&gemm_narrow<1, T>) {
  if (transpose_b || m * k > 256) return nullptr;
  if constexpr (is_dual<T>::value) return nullptr;
  else if constexpr (gemm_dtype<T>::value == OPW_F32 || gemm_dtype<T>::value == OPW_F64) {
    if (n == 2) return &gemm_narrow<2, T>;
    if (n == 3) return &gemm_narrow<3, T>;
    if (n == 4) return &gemm_narrow<4, T>;
    if (n == 8) return &gemm_narrow<8, T>;
  }
  return nullptr;
}

/* The product of numbers with derivatives (dual_gemm.h). */
template <class T>
void gemm_of_duals(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const T *a,
                   int64_t lda, const T *b, int64_t ldb, double beta, T *c, int64_t ldc);

}  // namespace detail

template <class T>
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const T *a, int64_t lda,
          const T *b, int64_t ldb, double beta, T *c, int64_t ldc) {
  if constexpr (detail::is_dual<T>::value) {
    detail::gemm_of_duals(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    detail::require_cpu();
    const int status = detail::host->gemm(detail::gemm_dtype<T>::value, transpose_a, transpose_b, m, n, k, alpha, a,
                                          lda, b, ldb, beta, c, ldc);
    if (status != 0)
      detail::refuse("this runtime's gemm refused m=", m, " n=", n, " k=", k, " lda=", lda, " ldb=", ldb, " ldc=", ldc);
  }
}

/* The same, and epilogue(begin, end) for rows of C as soon as they are there, each exactly once, on the thread that computed
 * them: a bias, an activation, a loss. It may write to C. Panels of rows run on PyTorch's threads. */
template <class T, class F>
auto gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const T *a, int64_t lda,
          const T *b, int64_t ldb, double beta, T *c, int64_t ldc, const F &epilogue)
    -> decltype(epilogue(m, m), void()) {
  const int64_t row = detail::at_least_one(n * int64_t(sizeof(T))), work = detail::at_least_one(n * k);
  const int64_t fitting = detail::gemm_panel / row, rows = fitting > 16 ? fitting : 16;
  const int64_t panels = (m + rows - 1) / rows;
  parallel_for(panels, detail::gemm_piece / detail::at_least_one(work * rows) + 1, [&](int64_t panel) {
    const int64_t begin = panel * rows, end = begin + rows < m ? begin + rows : m;
    gemm(transpose_a, transpose_b, end - begin, n, k, alpha, transpose_a ? a + begin : a + begin * lda, lda, b, ldb,
         beta, c + begin * ldc, ldc);
    epilogue(begin, end);
  });
}

/* `count` products of one size: A, B and C of the next begin stride_a, stride_b and stride_c elements later; 0: it is the same
 * for all, which C can't be. */
template <class T>
void gemm_batched(int64_t count, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                  const T *a, int64_t lda, int64_t stride_a, const T *b, int64_t ldb, int64_t stride_b, double beta,
                  T *c, int64_t ldc, int64_t stride_c) {
  detail::require_cpu();
  if (count > 1 && stride_c == 0 && m * n > 0)
    detail::refuse("gemm_batched: stride_c is 0, but each of the ", count, " products has its own C");
  const int64_t work = detail::at_least_one(m * n * k);
  const auto narrow = alpha == 0 ? nullptr : detail::narrow_gemm<T>(transpose_b, m, n, k);
  parallel_for(count, detail::gemm_piece / work + 1, [&](int64_t i) {
    const T *ai = a + i * stride_a, *bi = b + i * stride_b;
    T *ci = c + i * stride_c;
    if (narrow) narrow(transpose_a, m, k, T(alpha), ai, lda, bi, ldb, T(beta), ci, ldc);
    else gemm(transpose_a, transpose_b, m, n, k, alpha, ai, lda, bi, ldb, beta, ci, ldc);
  });
}

}  // namespace opwright
#endif
