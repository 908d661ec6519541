#ifndef THC_BLAS_INC
#define THC_BLAS_INC

#include "THCGeneral.h"
#include "THCHalf.h"

/* cuBLAS, by way of PyTorch, on the current stream. Matrices are column-major, in the GPU's memory: element (i, j) of `a` is
 * a[i + j * lda]. `trans` is 'n', 't' or 'c'. S is for float, D for double, H for half. A result's increment is above 0. */

/* level 1: vectors of n elements, inc elements apart; dot waits for the GPU */
THC_API float THCudaBlas_Sdot(THCState *state, int64_t n, float *x, int64_t incx, float *y, int64_t incy);
THC_API double THCudaBlas_Ddot(THCState *state, int64_t n, double *x, int64_t incx, double *y, int64_t incy);
THC_API half THCudaBlas_Hdot(THCState *state, int64_t n, half *x, int64_t incx, half *y, int64_t incy);
THC_API void THCudaBlas_Saxpy(THCState *state, int64_t n, float a, float *x, int64_t incx, float *y, int64_t incy);
THC_API void THCudaBlas_Sscal(THCState *state, int64_t n, float a, float *x, int64_t incx);
THC_API void THCudaBlas_Scopy(THCState *state, int64_t n, float *x, int64_t incx, float *y, int64_t incy);
THC_API void THCudaBlas_Daxpy(THCState *state, int64_t n, double a, double *x, int64_t incx, double *y, int64_t incy);
THC_API void THCudaBlas_Dscal(THCState *state, int64_t n, double a, double *x, int64_t incx);
THC_API void THCudaBlas_Dcopy(THCState *state, int64_t n, double *x, int64_t incx, double *y, int64_t incy);

/* level 2: y = alpha * op(a) * x + beta * y, where a is m x n, and a += alpha * x * y' */
THC_API void THCudaBlas_Sgemv(THCState *state, char trans, int64_t m, int64_t n, float alpha, float *a, int64_t lda,
                              float *x, int64_t incx, float beta, float *y, int64_t incy);
THC_API void THCudaBlas_Sger(THCState *state, int64_t m, int64_t n, float alpha, float *x, int64_t incx, float *y,
                             int64_t incy, float *a, int64_t lda);
THC_API void THCudaBlas_Dgemv(THCState *state, char trans, int64_t m, int64_t n, double alpha, double *a, int64_t lda,
                              double *x, int64_t incx, double beta, double *y, int64_t incy);
THC_API void THCudaBlas_Dger(THCState *state, int64_t m, int64_t n, double alpha, double *x, int64_t incx, double *y,
                             int64_t incy, double *a, int64_t lda);

/* level 3: c = alpha * op(a) * op(b) + beta * c, where op(a) is m x k, and op(b) is k x n */
THC_API void THCudaBlas_Sgemm(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                              float *a, int64_t lda, float *b, int64_t ldb, float beta, float *c, int64_t ldc);
THC_API void THCudaBlas_Dgemm(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                              double *a, int64_t lda, double *b, int64_t ldb, double beta, double *c, int64_t ldc);
THC_API void THCudaBlas_Hgemm(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k, half alpha,
                              half *a, int64_t lda, half *b, int64_t ldb, half beta, half *c, int64_t ldc);

/* The same `count` times: of matrices whose addresses are in arrays in the GPU's memory, or each a stride after the last. */
THC_API void THCudaBlas_SgemmBatched(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k,
                                     float alpha, const float *a[], int64_t lda, const float *b[], int64_t ldb,
                                     float beta, float *c[], int64_t ldc, int64_t count);
THC_API void THCudaBlas_DgemmBatched(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k,
                                     double alpha, const double *a[], int64_t lda, const double *b[], int64_t ldb,
                                     double beta, double *c[], int64_t ldc, int64_t count);
THC_API void THCudaBlas_SgemmStridedBatched(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k,
                                            float alpha, const float *a, int64_t lda, int64_t strideA, const float *b,
                                            int64_t ldb, int64_t strideB, float beta, float *c, int64_t ldc,
                                            int64_t strideC, int64_t count);
THC_API void THCudaBlas_DgemmStridedBatched(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k,
                                            double alpha, const double *a, int64_t lda, int64_t strideA,
                                            const double *b, int64_t ldb, int64_t strideB, double beta, double *c,
                                            int64_t ldc, int64_t strideC, int64_t count);
THC_API void THCudaBlas_HgemmStridedBatched(THCState *state, char transa, char transb, int64_t m, int64_t n, int64_t k,
                                            half alpha, const half *a, int64_t lda, int64_t strideA, const half *b,
                                            int64_t ldb, int64_t strideB, half beta, half *c, int64_t ldc,
                                            int64_t strideC, int64_t count);

#endif
