#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THBlas.h"
#else

/* Matrices are column-major, as in Fortran: element (i, j) of `a` is a[i + j * lda]. `trans` is 'n', 't' or 'c'. */

/* level 1: vectors of n elements, inc elements apart */
TH_API void THBlas_(swap)(int64_t n, real *x, int64_t incx, real *y, int64_t incy);
TH_API void THBlas_(scal)(int64_t n, real a, real *x, int64_t incx);
TH_API void THBlas_(copy)(int64_t n, real *x, int64_t incx, real *y, int64_t incy);
TH_API void THBlas_(axpy)(int64_t n, real a, real *x, int64_t incx, real *y, int64_t incy);
TH_API real THBlas_(dot)(int64_t n, real *x, int64_t incx, real *y, int64_t incy);

/* level 2: y = alpha * op(a) * x + beta * y, and a += alpha * x * y' */
TH_API void THBlas_(gemv)(char trans, int64_t m, int64_t n, real alpha, real *a, int64_t lda, real *x, int64_t incx,
                          real beta, real *y, int64_t incy);
TH_API void THBlas_(ger)(int64_t m, int64_t n, real alpha, real *x, int64_t incx, real *y, int64_t incy, real *a,
                         int64_t lda);

/* level 3: c = alpha * op(a) * op(b) + beta * c, where op(a) is m x k, and op(b) is k x n */
TH_API void THBlas_(gemm)(char transa, char transb, int64_t m, int64_t n, int64_t k, real alpha, real *a, int64_t lda,
                          real *b, int64_t ldb, real beta, real *c, int64_t ldc);

#endif
