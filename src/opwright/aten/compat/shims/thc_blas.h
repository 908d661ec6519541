// THCudaBlas_*: cuBLAS on PyTorch's stream and handle. Needs the headers of cuBLAS and cuSPARSE.
#pragma once

#include "thc_cuda.h"
#include "thc_state.h"

#if OPWRIGHT_COMPAT_CUDA

#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>

#include <cstdint>

namespace opwright_compat {

inline cublasOperation_t blas_operation(char letter) {
  switch (letter) {
    case 'n':
    case 'N': return CUBLAS_OP_N;
    case 't':
    case 'T': return CUBLAS_OP_T;
    case 'c':
    case 'C': return CUBLAS_OP_C;
    default: TORCH_CHECK(false, "THCudaBlas: transposition is '", letter, "', expected 'n', 't' or 'c'");
  }
}

// PyTorch has no product of matrices behind an array of pointers in float; cuBLAS itself has.
inline cublasStatus_t blas_batched(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n,
                                   int k, const float *alpha, const float *const *a, int lda, const float *const *b,
                                   int ldb, const float *beta, float *const *c, int ldc, int count) {
  return cublasSgemmBatched(handle, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);
}
inline cublasStatus_t blas_batched(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n,
                                   int k, const double *alpha, const double *const *a, int lda, const double *const *b,
                                   int ldb, const double *beta, double *const *c, int ldc, int count) {
  return cublasDgemmBatched(handle, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);
}

}  // namespace opwright_compat

#define OPWRIGHT_COMPAT_GEMM(Letter, T, Number)                                                                       \
  inline void THCudaBlas_##Letter##gemm(THCState *, char transa, char transb, int64_t m, int64_t n, int64_t k,        \
                                        Number alpha, const T *a, int64_t lda, const T *b, int64_t ldb, Number beta,  \
                                        T *c, int64_t ldc) {                                                          \
    at::cuda::blas::gemm<T>(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                            \
  }                                                                                                                   \
  inline void THCudaBlas_##Letter##gemmStridedBatched(                                                                \
      THCState *, char transa, char transb, int64_t m, int64_t n, int64_t k, Number alpha, const T *a, int64_t lda,   \
      int64_t stridea, const T *b, int64_t ldb, int64_t strideb, Number beta, T *c, int64_t ldc, int64_t stridec,     \
      int64_t count) {                                                                                                \
    at::cuda::blas::bgemm<T>(transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, ldc, stridec, \
                             count);                                                                                  \
  }
#define OPWRIGHT_COMPAT_GEMV(Letter, T)                                                                               \
  inline void THCudaBlas_##Letter##gemv(THCState *, char trans, int64_t m, int64_t n, T alpha, const T *a,            \
                                        int64_t lda, const T *x, int64_t incx, T beta, T *y, int64_t incy) {          \
    at::cuda::blas::gemv<T>(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);                                      \
  }                                                                                                                   \
  inline void THCudaBlas_##Letter##gemmBatched(THCState *, char transa, char transb, int64_t m, int64_t n, int64_t k, \
                                               T alpha, const T *a[], int64_t lda, const T *b[], int64_t ldb, T beta, \
                                               T *c[], int64_t ldc, int64_t count) {                                  \
    TORCH_CUDABLAS_CHECK(opwright_compat::blas_batched(                                                               \
        at::cuda::getCurrentCUDABlasHandle(), opwright_compat::blas_operation(transa),                                \
        opwright_compat::blas_operation(transb), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),       \
        &alpha, a, static_cast<int>(lda), b, static_cast<int>(ldb), &beta, c, static_cast<int>(ldc),                  \
        static_cast<int>(count)));                                                                                    \
  }

OPWRIGHT_COMPAT_GEMM(S, float, float)
OPWRIGHT_COMPAT_GEMM(D, double, double)
OPWRIGHT_COMPAT_GEMM(H, at::Half, float)
OPWRIGHT_COMPAT_GEMV(S, float)
OPWRIGHT_COMPAT_GEMV(D, double)

#undef OPWRIGHT_COMPAT_GEMM
#undef OPWRIGHT_COMPAT_GEMV

#endif
