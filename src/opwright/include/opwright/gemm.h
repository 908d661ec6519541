/* gemm, row-major, by the runtime: tiles of its own up to some millions of multiply-adds, else PyTorch's BLAS (docs/gemm.md):
 *
 *   C = alpha * op(A) op(B) + beta * C     op(A): m x k, op(B): k x n, C: m x n
 *
 * op(X) is X, or its transpose where `transpose_x`. lda, ldb, ldc: elements from one stored row to the next.
 * T: float, double, half, bfloat16 (halves accumulate in float). A and B aren't read where alpha is 0, C where beta is 0.
 * With enough to do it runs on PyTorch's threads; within a parallel_for, in the calling one. It is the CPU's: in an operator of
 * a CUDA source it is refused.
 */
#ifndef OPWRIGHT_GEMM_H
#define OPWRIGHT_GEMM_H

#include "check.h"
#include "half.h"
#include "host.h"

namespace opwright {
namespace detail {

template <class T>
struct gemm_dtype;
template <> struct gemm_dtype<float> { static constexpr int value = OPW_F32; };
template <> struct gemm_dtype<double> { static constexpr int value = OPW_F64; };
template <> struct gemm_dtype<half> { static constexpr int value = OPW_F16; };
template <> struct gemm_dtype<bfloat16> { static constexpr int value = OPW_BF16; };

#ifdef OPWRIGHT_CUDA_TEXT
inline bool in_cuda_operator(); /* cuda.h */
#endif

}  // namespace detail

template <class T>
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha, const T *a, int64_t lda,
          const T *b, int64_t ldb, double beta, T *c, int64_t ldc) {
#ifdef OPWRIGHT_CUDA_TEXT
  if (detail::in_cuda_operator())
    detail::refuse(
        "gemm multiplies on the CPU, and this is an operator of a CUDA source\n"
        "  likely fix: multiply with PyTorch, around the operator (torch.addmm), or call cuBLAS");
#endif
  const int status = detail::host->gemm(detail::gemm_dtype<T>::value, transpose_a, transpose_b, m, n, k, alpha, a, lda,
                                        b, ldb, beta, c, ldc);
  if (status != 0)
    detail::refuse("this runtime's gemm refused m=", m, " n=", n, " k=", k, " lda=", lda, " ldb=", ldb, " ldc=", ldc);
}

}  // namespace opwright
#endif
