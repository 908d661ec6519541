/* cuBLAS's functions of batches of matrices; a part of cublas_v2.h. */
#define OPWRIGHT_CUBLAS_BATCHED_GEMM(L, T, D, compute)                                                                 \
  OPWRIGHT_CUBLAS(cublas##L##gemmStridedBatched, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, \
                  long long k, const T *alpha, const T *a, long long lda, long long a_stride, const T *b,              \
                  long long ldb, long long b_stride, const T *beta, T *c, long long ldc, long long c_stride,           \
                  long long batch) {                                                                                   \
    return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublas##L##gemmStridedBatched), ta, tb, {m, n, k, batch},   \
                                      alpha, {a, D, lda, a_stride}, {b, D, ldb, b_stride}, beta,                       \
                                      {c, D, ldc, c_stride}, compute);                                                 \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##gemmBatched, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n,        \
                  long long k, const T *alpha, const T *const *a, long long lda, const T *const *b, long long ldb,     \
                  const T *beta, T *const *c, long long ldc, long long batch) {                                        \
    return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublas##L##gemmBatched), ta, tb, {m, n, k, batch}, alpha,   \
                                      {a, D, lda, 0, true}, {b, D, ldb, 0, true}, beta, {c, D, ldc, 0, true},          \
                                      compute);                                                                        \
  }
OPWRIGHT_CUBLAS_BATCHED_GEMM(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
OPWRIGHT_CUBLAS_BATCHED_GEMM(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
OPWRIGHT_CUBLAS_BATCHED_GEMM(C, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
OPWRIGHT_CUBLAS_BATCHED_GEMM(Z, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
OPWRIGHT_CUBLAS_BATCHED_GEMM(H, __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
#undef OPWRIGHT_CUBLAS_BATCHED_GEMM

OPWRIGHT_CUBLAS(cublasGemmStridedBatchedEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n,
                long long k, const void *alpha, const void *a, cudaDataType a_type, long long lda, long long a_stride,
                const void *b, cudaDataType b_type, long long ldb, long long b_stride, const void *beta, void *c,
                cudaDataType c_type, long long ldc, long long c_stride, long long batch, cublasComputeType_t compute,
                cublasGemmAlgo_t) {
  return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublasGemmStridedBatchedEx), ta, tb, {m, n, k, batch}, alpha,
                                    {a, a_type, lda, a_stride}, {b, b_type, ldb, b_stride}, beta,
                                    {c, c_type, ldc, c_stride}, compute);
}
OPWRIGHT_CUBLAS(cublasGemmStridedBatchedEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n,
                long long k, const void *alpha, const void *a, cudaDataType a_type, long long lda, long long a_stride,
                const void *b, cudaDataType b_type, long long ldb, long long b_stride, const void *beta, void *c,
                cudaDataType c_type, long long ldc, long long c_stride, long long batch, cudaDataType compute,
                cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb, b_stride,
                                    beta, c, c_type, ldc, c_stride, batch, OPWRIGHT_CUBLAS_BLAS::compute_of(compute),
                                    algorithm, file, line);
}
OPWRIGHT_CUBLAS(cublasGemmBatchedEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const void *alpha, const void *const *a, cudaDataType a_type, long long lda, const void *const *b,
                cudaDataType b_type, long long ldb, const void *beta, void *const *c, cudaDataType c_type,
                long long ldc, long long batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return OPWRIGHT_CUBLAS_BLAS::gemm(OPWRIGHT_CUBLAS_CALL(cublasGemmBatchedEx), ta, tb, {m, n, k, batch}, alpha,
                                    {a, a_type, lda, 0, true}, {b, b_type, ldb, 0, true}, beta,
                                    {c, c_type, ldc, 0, true}, compute);
}
OPWRIGHT_CUBLAS(cublasGemmBatchedEx, cublasOperation_t ta, cublasOperation_t tb, long long m, long long n, long long k,
                const void *alpha, const void *const *a, cudaDataType a_type, long long lda, const void *const *b,
                cudaDataType b_type, long long ldb, const void *beta, void *const *c, cudaDataType c_type,
                long long ldc, long long batch, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                             batch, OPWRIGHT_CUBLAS_BLAS::compute_of(compute), algorithm, file, line);
}

#define OPWRIGHT_CUBLAS_SYSTEMS(L, T, D, compute, N, R)                                                                \
  OPWRIGHT_CUBLAS(cublas##L##trsmBatched, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,          \
                  cublasDiagType_t diagonal, long long m, long long n, const T *alpha, const T *const *a,              \
                  long long lda, T *const *b, long long ldb, long long batch) {                                        \
    return OPWRIGHT_CUBLAS_BLAS::trsm(OPWRIGHT_CUBLAS_CALL(cublas##L##trsmBatched), {side, fill, op, diagonal}, m, n,  \
                                      alpha, {a, D, lda, 0, true}, {b, D, ldb, 0, true}, batch);                       \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##getrfBatched, long long n, T *const *a, long long lda, int *pivots, int *info,            \
                  long long batch) {                                                                                   \
    return OPWRIGHT_CUBLAS_BLAS::getrf(OPWRIGHT_CUBLAS_CALL(cublas##L##getrfBatched), n, {a, D, lda, 0, true}, pivots, \
                                       info, batch);                                                                   \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##getriBatched, long long n, const T *const *a, long long lda, const int *pivots,           \
                  T *const *c, long long ldc, int *info, long long batch) {                                            \
    return OPWRIGHT_CUBLAS_BLAS::getri(OPWRIGHT_CUBLAS_CALL(cublas##L##getriBatched), n, {a, D, lda, 0, true}, pivots, \
                                       {c, D, ldc, 0, true}, info, batch);                                             \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##getrsBatched, cublasOperation_t t, long long n, long long columns, const T *const *a,     \
                  long long lda, const int *pivots, T *const *b, long long ldb, int *info, long long batch) {          \
    return OPWRIGHT_CUBLAS_BLAS::getrs(OPWRIGHT_CUBLAS_CALL(cublas##L##getrsBatched), t, n, columns,                   \
                                       {a, D, lda, 0, true}, pivots, {b, D, ldb, 0, true}, info, batch);               \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##matinvBatched, long long n, const T *const *a, long long lda, T *const *inverse,          \
                  long long ld, int *info, long long batch) {                                                          \
    return OPWRIGHT_CUBLAS_BLAS::matinv(OPWRIGHT_CUBLAS_CALL(cublas##L##matinvBatched), n, {a, D, lda, 0, true},       \
                                        {inverse, D, ld, 0, true}, info, batch);                                       \
  }                                                                                                                    \
  OPWRIGHT_CUBLAS(cublas##L##gelsBatched, cublasOperation_t t, long long m, long long n, long long columns,            \
                  T *const *a, long long lda, T *const *c, long long ldc, int *info, int *singular, long long batch) { \
    return OPWRIGHT_CUBLAS_BLAS::gels(OPWRIGHT_CUBLAS_CALL(cublas##L##gelsBatched), t, m, n, columns,                  \
                                      {a, D, lda, 0, true}, {c, D, ldc, 0, true}, info, singular, batch);              \
  }
OPWRIGHT_CUBLAS_EACH(OPWRIGHT_CUBLAS_SYSTEMS)
#undef OPWRIGHT_CUBLAS_SYSTEMS

OPWRIGHT_CUBLAS_WIDE(cublasSgemmStridedBatched)
OPWRIGHT_CUBLAS_WIDE(cublasDgemmStridedBatched)
#undef OPWRIGHT_CUBLAS_WIDE
