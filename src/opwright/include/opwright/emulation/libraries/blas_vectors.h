/* cuBLAS's functions of vectors; a part of cublas_v2.h. */
#define OPWRIGHT_CUBLAS_VECTORS(L, T, D, compute, N, R)                                                                \
  OPWRIGHT_CUBLAS(cublas##L##axpy, long long n, const T *alpha, const T *x, long long incx, T *y, long long incy) {    \
    return OPWRIGHT_CUBLAS_BLAS::axpy(OPWRIGHT_CUBLAS_CALL(cublas##L##axpy), n, alpha, {x, D, incx}, {y, D, incy}, D); \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##scal, long long n, const T *alpha, T *x, long long incx) {                                \
    return OPWRIGHT_CUBLAS_BLAS::scal(OPWRIGHT_CUBLAS_CALL(cublas##L##scal), n, alpha, D, {x, D, incx}, D);            \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##copy, long long n, const T *x, long long incx, T *y, long long incy) {                    \
    return OPWRIGHT_CUBLAS_BLAS::copy(OPWRIGHT_CUBLAS_CALL(cublas##L##copy), n, {x, D, incx}, {y, D, incy}, false);    \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##swap, long long n, T *x, long long incx, T *y, long long incy) {                          \
    return OPWRIGHT_CUBLAS_BLAS::copy(OPWRIGHT_CUBLAS_CALL(cublas##L##swap), n, {x, D, incx}, {y, D, incy}, true);     \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##N##nrm2, long long n, const T *x, long long incx, R *result) {                               \
    return OPWRIGHT_CUBLAS_BLAS::norm(OPWRIGHT_CUBLAS_CALL(cublas##N##nrm2), OPWRIGHT_CUBLAS_BLAS::Norm::two, n,       \
                                      {x, D, incx}, result, sizeof(R) == 4 ? CUDA_R_32F : CUDA_R_64F, D);              \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##N##asum, long long n, const T *x, long long incx, R *result) {                               \
    return OPWRIGHT_CUBLAS_BLAS::norm(OPWRIGHT_CUBLAS_CALL(cublas##N##asum), OPWRIGHT_CUBLAS_BLAS::Norm::one, n,       \
                                      {x, D, incx}, result, sizeof(R) == 4 ? CUDA_R_32F : CUDA_R_64F, D);              \
  }
OPWRIGHT_CUBLAS_EACH(OPWRIGHT_CUBLAS_VECTORS)
#undef OPWRIGHT_CUBLAS_VECTORS

#define OPWRIGHT_CUBLAS_DOT(name, T, D, conjugate)                                                                    \
  OPWRIGHT_CUBLAS(name, long long n, const T *x, long long incx, const T *y, long long incy, T *result) {             \
    return OPWRIGHT_CUBLAS_BLAS::dot(OPWRIGHT_CUBLAS_CALL(name), n, {x, D, incx}, {y, D, incy}, conjugate, result, D, \
                                     D);                                                                              \
  }
OPWRIGHT_CUBLAS_DOT(cublasSdot, float, CUDA_R_32F, false)
OPWRIGHT_CUBLAS_DOT(cublasDdot, double, CUDA_R_64F, false)
OPWRIGHT_CUBLAS_DOT(cublasCdotu, cuComplex, CUDA_C_32F, false)
OPWRIGHT_CUBLAS_DOT(cublasCdotc, cuComplex, CUDA_C_32F, true)
OPWRIGHT_CUBLAS_DOT(cublasZdotu, cuDoubleComplex, CUDA_C_64F, false)
OPWRIGHT_CUBLAS_DOT(cublasZdotc, cuDoubleComplex, CUDA_C_64F, true)
#undef OPWRIGHT_CUBLAS_DOT

#define OPWRIGHT_CUBLAS_EXTREME(L, T, D)                                                                            \
  OPWRIGHT_CUBLAS(cublasI##L##amax, long long n, const T *x, long long incx, int *result) {                         \
    return OPWRIGHT_CUBLAS_BLAS::extreme(OPWRIGHT_CUBLAS_CALL(cublasI##L##amax), true, n, {x, D, incx}, result,     \
                                         false);                                                                    \
  }                                                                                                                 \
  OPWRIGHT_CUBLAS(cublasI##L##amin, long long n, const T *x, long long incx, int *result) {                         \
    return OPWRIGHT_CUBLAS_BLAS::extreme(OPWRIGHT_CUBLAS_CALL(cublasI##L##amin), false, n, {x, D, incx}, result,    \
                                         false);                                                                    \
  }                                                                                                                 \
  OPWRIGHT_CUBLAS(cublasI##L##amax_64, long long n, const T *x, long long incx, int64_t *result) {                  \
    return OPWRIGHT_CUBLAS_BLAS::extreme(OPWRIGHT_CUBLAS_CALL(cublasI##L##amax_64), true, n, {x, D, incx}, result,  \
                                         true);                                                                     \
  }                                                                                                                 \
  OPWRIGHT_CUBLAS(cublasI##L##amin_64, long long n, const T *x, long long incx, int64_t *result) {                  \
    return OPWRIGHT_CUBLAS_BLAS::extreme(OPWRIGHT_CUBLAS_CALL(cublasI##L##amin_64), false, n, {x, D, incx}, result, \
                                         true);                                                                     \
  }
OPWRIGHT_CUBLAS_EXTREME(s, float, CUDA_R_32F)
OPWRIGHT_CUBLAS_EXTREME(d, double, CUDA_R_64F)
OPWRIGHT_CUBLAS_EXTREME(c, cuComplex, CUDA_C_32F)
OPWRIGHT_CUBLAS_EXTREME(z, cuDoubleComplex, CUDA_C_64F)
#undef OPWRIGHT_CUBLAS_EXTREME

#define OPWRIGHT_CUBLAS_ROT(L, T, D, compute, N, R)                                                                  \
  OPWRIGHT_CUBLAS(cublas##L##rot, long long n, T *x, long long incx, T *y, long long incy, const T *c, const T *s) { \
    return OPWRIGHT_CUBLAS_BLAS::rot(OPWRIGHT_CUBLAS_CALL(cublas##L##rot), n, {x, D, incx}, {y, D, incy}, c, s);     \
  }
OPWRIGHT_CUBLAS_REAL(OPWRIGHT_CUBLAS_ROT)
#undef OPWRIGHT_CUBLAS_ROT

OPWRIGHT_CUBLAS(cublasCsscal, long long n, const float *alpha, cuComplex *x, long long incx) {
  return OPWRIGHT_CUBLAS_BLAS::scal(OPWRIGHT_CUBLAS_CALL(cublasCsscal), n, alpha, CUDA_R_32F, {x, CUDA_C_32F, incx},
                                    CUDA_C_32F);
}
OPWRIGHT_CUBLAS(cublasZdscal, long long n, const double *alpha, cuDoubleComplex *x, long long incx) {
  return OPWRIGHT_CUBLAS_BLAS::scal(OPWRIGHT_CUBLAS_CALL(cublasZdscal), n, alpha, CUDA_R_64F, {x, CUDA_C_64F, incx},
                                    CUDA_C_64F);
}
OPWRIGHT_CUBLAS(cublasAxpyEx, long long n, const void *alpha, cudaDataType, const void *x, cudaDataType x_type,
                long long incx, void *y, cudaDataType y_type, long long incy, cudaDataType compute) {
  return OPWRIGHT_CUBLAS_BLAS::axpy(OPWRIGHT_CUBLAS_CALL(cublasAxpyEx), n, alpha, {x, x_type, incx}, {y, y_type, incy},
                                    compute);
}
OPWRIGHT_CUBLAS(cublasScalEx, long long n, const void *alpha, cudaDataType alpha_type, void *x, cudaDataType x_type,
                long long incx, cudaDataType compute) {
  return OPWRIGHT_CUBLAS_BLAS::scal(OPWRIGHT_CUBLAS_CALL(cublasScalEx), n, alpha, alpha_type, {x, x_type, incx},
                                    compute);
}
OPWRIGHT_CUBLAS(cublasDotEx, long long n, const void *x, cudaDataType x_type, long long incx, const void *y,
                cudaDataType y_type, long long incy, void *result, cudaDataType result_type, cudaDataType compute) {
  return OPWRIGHT_CUBLAS_BLAS::dot(OPWRIGHT_CUBLAS_CALL(cublasDotEx), n, {x, x_type, incx}, {y, y_type, incy}, false,
                                   result, result_type, compute);
}
OPWRIGHT_CUBLAS(cublasDotcEx, long long n, const void *x, cudaDataType x_type, long long incx, const void *y,
                cudaDataType y_type, long long incy, void *result, cudaDataType result_type, cudaDataType compute) {
  return OPWRIGHT_CUBLAS_BLAS::dot(OPWRIGHT_CUBLAS_CALL(cublasDotcEx), n, {x, x_type, incx}, {y, y_type, incy}, true,
                                   result, result_type, compute);
}
OPWRIGHT_CUBLAS(cublasNrm2Ex, long long n, const void *x, cudaDataType x_type, long long incx, void *result,
                cudaDataType result_type, cudaDataType compute) {
  return OPWRIGHT_CUBLAS_BLAS::norm(OPWRIGHT_CUBLAS_CALL(cublasNrm2Ex), OPWRIGHT_CUBLAS_BLAS::Norm::two, n,
                                    {x, x_type, incx}, result, result_type, compute);
}

/* Between host and device. */
inline cublasStatus_t cublasSetVector(long long n, long long bytes, const void *x, long long incx, void *y,
                                      long long incy, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(1, n, bytes, x, incx, y, incy, {"cublasSetVector", file, line});
}
inline cublasStatus_t cublasGetVector(long long n, long long bytes, const void *x, long long incx, void *y,
                                      long long incy, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(1, n, bytes, x, incx, y, incy, {"cublasGetVector", file, line});
}
inline cublasStatus_t cublasSetVectorAsync(long long n, long long bytes, const void *x, long long incx, void *y,
                                           long long incy, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(1, n, bytes, x, incx, y, incy,
                                        {"cublasSetVectorAsync", file, line, stream, true});
}
inline cublasStatus_t cublasGetVectorAsync(long long n, long long bytes, const void *x, long long incx, void *y,
                                           long long incy, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(1, n, bytes, x, incx, y, incy,
                                        {"cublasGetVectorAsync", file, line, stream, true});
}
inline cublasStatus_t cublasSetMatrix(long long rows, long long columns, long long bytes, const void *a, long long lda,
                                      void *b, long long ldb, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(rows, columns, bytes, a, lda, b, ldb, {"cublasSetMatrix", file, line});
}
inline cublasStatus_t cublasGetMatrix(long long rows, long long columns, long long bytes, const void *a, long long lda,
                                      void *b, long long ldb, OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(rows, columns, bytes, a, lda, b, ldb, {"cublasGetMatrix", file, line});
}
inline cublasStatus_t cublasSetMatrixAsync(long long rows, long long columns, long long bytes, const void *a,
                                           long long lda, void *b, long long ldb, cudaStream_t stream,
                                           OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(rows, columns, bytes, a, lda, b, ldb,
                                        {"cublasSetMatrixAsync", file, line, stream, true});
}
inline cublasStatus_t cublasGetMatrixAsync(long long rows, long long columns, long long bytes, const void *a,
                                           long long lda, void *b, long long ldb, cudaStream_t stream,
                                           OPWRIGHT_EMULATION_HERE) {
  return OPWRIGHT_CUBLAS_BLAS::transfer(rows, columns, bytes, a, lda, b, ldb,
                                        {"cublasGetMatrixAsync", file, line, stream, true});
}

/* The functions that count in 64 bits are the same ones. */
#define OPWRIGHT_CUBLAS_WIDE(name) \
  template <class... Given> inline cublasStatus_t name##_64(Given... given) { return name(given...); }
#define OPWRIGHT_CUBLAS_WIDE_VECTORS(L, T, D, compute, N, R) \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##axpy)                      \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##scal)                      \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##copy)                      \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##swap) OPWRIGHT_CUBLAS_WIDE(cublas##N##nrm2) OPWRIGHT_CUBLAS_WIDE(cublas##N##asum)
OPWRIGHT_CUBLAS_EACH(OPWRIGHT_CUBLAS_WIDE_VECTORS)
OPWRIGHT_CUBLAS_WIDE(cublasSdot)
OPWRIGHT_CUBLAS_WIDE(cublasDdot)
#undef OPWRIGHT_CUBLAS_WIDE_VECTORS
