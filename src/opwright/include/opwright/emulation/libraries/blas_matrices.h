/* cuBLAS's functions of matrices; a part of cublas_v2.h. */
#define OPWRIGHT_CUBLAS_MATRICES(L, T, D, compute, N, R)                                                               \
  OPWRIGHT_CUBLAS(cublas##L##gemm, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,  \
                  const T *alpha, const T *a, long long lda, const T *b, long long ldb, const T *beta, T *c,           \
                  long long ldc) {                                                                                     \
    return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublas##L##gemm), ta, tb, {m, n, k, 1}, alpha, {a, D, lda}, \
                                      {b, D, ldb}, beta, {c, D, ldc}, compute);                                        \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##gemv, cublasOperation_t t, long long m, long long n, const T *alpha, const T *a,          \
                  long long lda, const T *x, long long incx, const T *beta, T *y, long long incy) {                    \
    return OPWRIGHT_CUBLAS_BLAS::gemv(OPWRIGHT_CUBLAS_CALL(cublas##L##gemv), t, m, n, alpha, {a, D, lda},              \
                                      {x, D, incx}, beta, {y, D, incy});                                               \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##geam, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n,               \
                  const T *alpha, const T *a, long long lda, const T *beta, const T *b, long long ldb, T *c,           \
                  long long ldc) {                                                                                     \
    return OPWRIGHT_CUBLAS_BLAS::geam(OPWRIGHT_CUBLAS_CALL(cublas##L##geam), ta, tb, m, n, alpha, {a, D, lda}, beta,   \
                                      {b, D, ldb}, {c, D, ldc});                                                       \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##dgmm, cublasSideMode_t side, long long m, long long n, const T *a, long long lda,         \
                  const T *x, long long incx, T *c, long long ldc) {                                                   \
    return OPWRIGHT_CUBLAS_BLAS::dgmm(OPWRIGHT_CUBLAS_CALL(cublas##L##dgmm), side, m, n, {a, D, lda}, {x, D, incx},    \
                                      {c, D, ldc});                                                                    \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##trsm, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,                 \
                  cublasDiagType_t diagonal, long long m, long long n, const T *alpha, const T *a, long long lda,      \
                  T *b, long long ldb) {                                                                               \
    return OPWRIGHT_CUBLAS_BLAS::trsm(OPWRIGHT_CUBLAS_CALL(cublas##L##trsm), {side, fill, op, diagonal}, m, n, alpha,  \
                                      {a, D, lda}, {b, D, ldb}, 1);                                                    \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##trsv, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal,             \
                  long long n, const T *a, long long lda, T *x, long long incx) {                                      \
    const bool row = incx != 1; /* a strided vector is a row of a matrix */                                            \
    if (row && op != CUBLAS_OP_C) op = op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;                                  \
    if (incx < 1 || (row && op == CUBLAS_OP_C)) return CUBLAS_STATUS_NOT_SUPPORTED;                                    \
    return OPWRIGHT_CUBLAS_BLAS::trsm(OPWRIGHT_CUBLAS_CALL(cublas##L##trsv),                                           \
                                      {row ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT, fill, op, diagonal}, row ? 1 : n,   \
                                      row ? n : 1, nullptr, {a, D, lda}, {x, D, row ? incx : n}, 1);                   \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##syrk, cublasFillMode_t fill, cublasOperation_t t, long long n, long long k,               \
                  const T *alpha, const T *a, long long lda, const T *beta, T *c, long long ldc) {                     \
    return OPWRIGHT_CUBLAS_BLAS::syrk(OPWRIGHT_CUBLAS_CALL(cublas##L##syrk), fill, t, n, k, alpha, {a, D, lda}, beta,  \
                                      {c, D, ldc}, false);                                                             \
  }
OPWRIGHT_CUBLAS_EACH(OPWRIGHT_CUBLAS_MATRICES)
#undef OPWRIGHT_CUBLAS_MATRICES

#define OPWRIGHT_CUBLAS_GER(name, T, D, conjugate)                                                                   \
  OPWRIGHT_CUBLAS(name, long long m, long long n, const T *alpha, const T *x, long long incx, const T *y,            \
                  long long incy, T *a, long long lda) {                                                             \
    return OPWRIGHT_CUBLAS_BLAS::ger(OPWRIGHT_CUBLAS_CALL(name), m, n, alpha, {x, D, incx}, {y, D, incy}, conjugate, \
                                     {a, D, lda});                                                                   \
  }
OPWRIGHT_CUBLAS_GER(cublasSger, float, CUDA_R_32F, false)
OPWRIGHT_CUBLAS_GER(cublasDger, double, CUDA_R_64F, false)
OPWRIGHT_CUBLAS_GER(cublasCgeru, cuComplex, CUDA_C_32F, false)
OPWRIGHT_CUBLAS_GER(cublasCgerc, cuComplex, CUDA_C_32F, true)
OPWRIGHT_CUBLAS_GER(cublasZgeru, cuDoubleComplex, CUDA_C_64F, false)
OPWRIGHT_CUBLAS_GER(cublasZgerc, cuDoubleComplex, CUDA_C_64F, true)
#undef OPWRIGHT_CUBLAS_GER

#define OPWRIGHT_CUBLAS_SYMV(L, T, D, compute, N, R)                                                              \
  OPWRIGHT_CUBLAS(cublas##L##symv, cublasFillMode_t fill, long long n, const T *alpha, const T *a, long long lda, \
                  const T *x, long long incx, const T *beta, T *y, long long incy) {                              \
    return OPWRIGHT_CUBLAS_BLAS::symv(OPWRIGHT_CUBLAS_CALL(cublas##L##symv), fill, n, alpha, {a, D, lda},         \
                                      {x, D, incx}, beta, {y, D, incy});                                          \
  }
OPWRIGHT_CUBLAS_REAL(OPWRIGHT_CUBLAS_SYMV)
#undef OPWRIGHT_CUBLAS_SYMV

#define OPWRIGHT_CUBLAS_HERK(L, T, D, compute, N, R)                                                                  \
  OPWRIGHT_CUBLAS(cublas##L##herk, cublasFillMode_t fill, cublasOperation_t t, long long n, long long k,              \
                  const R *alpha, const T *a, long long lda, const R *beta, T *c, long long ldc) {                    \
    return OPWRIGHT_CUBLAS_BLAS::syrk(OPWRIGHT_CUBLAS_CALL(cublas##L##herk), fill, t, n, k, alpha, {a, D, lda}, beta, \
                                      {c, D, ldc}, true);                                                             \
  }
OPWRIGHT_CUBLAS_COMPLEX(OPWRIGHT_CUBLAS_HERK)
#undef OPWRIGHT_CUBLAS_HERK

OPWRIGHT_CUBLAS(cublasHgemm, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const __half *alpha, const __half *a, long long lda, const __half *b, long long ldb, const __half *beta,
                __half *c, long long ldc) {
  return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublasHgemm), ta, tb, {m, n, k, 1}, alpha,
                                    {a, CUDA_R_16F, lda}, {b, CUDA_R_16F, ldb}, beta, {c, CUDA_R_16F, ldc},
                                    CUBLAS_COMPUTE_16F);
}
OPWRIGHT_CUBLAS(cublasSgemmEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const float *alpha, const void *a, cudaDataType a_type, long long lda, const void *b,
                cudaDataType b_type, long long ldb, const float *beta, void *c, cudaDataType c_type, long long ldc) {
  return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublasSgemmEx), ta, tb, {m, n, k, 1}, alpha, {a, a_type, lda},
                                    {b, b_type, ldb}, beta, {c, c_type, ldc}, CUBLAS_COMPUTE_32F);
}
OPWRIGHT_CUBLAS(cublasGemmEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const void *alpha, const void *a, cudaDataType a_type, long long lda, const void *b,
                cudaDataType b_type, long long ldb, const void *beta, void *c, cudaDataType c_type, long long ldc,
                cublasComputeType_t compute, cublasGemmAlgo_t) {
  return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublasGemmEx), ta, tb, {m, n, k, 1}, alpha, {a, a_type, lda},
                                    {b, b_type, ldb}, beta, {c, c_type, ldc}, compute);
}
/* CUDA 10's form: a data type says what is computed in. */
OPWRIGHT_CUBLAS(cublasGemmEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const void *alpha, const void *a, cudaDataType a_type, long long lda, const void *b,
                cudaDataType b_type, long long ldb, const void *beta, void *c, cudaDataType c_type, long long ldc,
                cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                      OPWRIGHT_CUBLAS_BLAS::compute_of(compute), algorithm, file, line);
}

#define OPWRIGHT_CUBLAS_WIDE_MATRICES(L, T, D, compute, N, R) \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##gemm)                       \
  OPWRIGHT_CUBLAS_WIDE(cublas##L##gemv) OPWRIGHT_CUBLAS_WIDE(cublas##L##geam) OPWRIGHT_CUBLAS_WIDE(cublas##L##dgmm)
OPWRIGHT_CUBLAS_EACH(OPWRIGHT_CUBLAS_WIDE_MATRICES)
OPWRIGHT_CUBLAS_WIDE(cublasGemmEx)
#undef OPWRIGHT_CUBLAS_WIDE_MATRICES
