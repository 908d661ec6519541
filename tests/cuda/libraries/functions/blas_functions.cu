#include <cublas_v2.h>
#include <cstring>
typedef int64_t I;
struct Handle {
  cublasHandle_t is;
  Handle() { cublasCreate(&is); }
  ~Handle() { cublasDestroy(is); }
};
#define OP(t) (t == 0 ? CUBLAS_OP_N : t == 1 ? CUBLAS_OP_T : CUBLAS_OP_C)
#define SIDE(s) (s ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT)
#define FILL(u) (u ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER)
#define DIAG(u) (u ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT)
/* L: the letter, T: the type, N: the letters of norms, R: their type, i: the letter of indices */
#define EACH(L, T, N, R, i)                                                                                        \
  EXPORT int L##gemm(I ta, I tb, I m, I n, I k, T *alpha, T *a, I lda, T *b, I ldb, T *beta, T *c, I ldc) {           \
    return cublas##L##gemm(Handle().is, OP(ta), OP(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                \
  }                                                                                                                   \
  EXPORT int L##strided(I ta, I tb, I m, I n, I k, T *alpha, T *a, I lda, I as, T *b, I ldb, I bs, T *beta, T *c,     \
                        I ldc, I cs, I batch) {                                                                       \
    return cublas##L##gemmStridedBatched(Handle().is, OP(ta), OP(tb), m, n, k, alpha, a, lda, as, b, ldb, bs, beta,   \
                                         c, ldc, cs, batch);                                                          \
  }                                                                                                                   \
  EXPORT int L##batched(I ta, I tb, I m, I n, I k, T *alpha, T **a, I lda, T **b, I ldb, T *beta, T **c, I ldc,       \
                        I batch) {                                                                                    \
    return cublas##L##gemmBatched(Handle().is, OP(ta), OP(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch);  \
  }                                                                                                                   \
  EXPORT int L##gemv(I t, I m, I n, T *alpha, T *a, I lda, T *x, I incx, T *beta, T *y, I incy) {                     \
    return cublas##L##gemv(Handle().is, OP(t), m, n, alpha, a, lda, x, incx, beta, y, incy);                          \
  }                                                                                                                   \
  EXPORT int L##geam(I ta, I tb, I m, I n, T *alpha, T *a, I lda, T *beta, T *b, I ldb, T *c, I ldc) {                \
    return cublas##L##geam(Handle().is, OP(ta), OP(tb), m, n, alpha, a, lda, beta, b, ldb, c, ldc);                   \
  }                                                                                                                   \
  EXPORT int L##dgmm(I side, I m, I n, T *a, I lda, T *x, T *c, I ldc) {                                              \
    return cublas##L##dgmm(Handle().is, SIDE(side), m, n, a, lda, x, 1, c, ldc);                                      \
  }                                                                                                                   \
  EXPORT int L##trsm(I side, I upper, I t, I unit, I m, I n, T *alpha, T *a, I lda, T *b, I ldb) {                    \
    return cublas##L##trsm(Handle().is, SIDE(side), FILL(upper), OP(t), DIAG(unit), m, n, alpha, a, lda, b, ldb);     \
  }                                                                                                                   \
  EXPORT int L##trsv(I upper, I t, I n, T *a, I lda, T *x, I incx) {                                                  \
    return cublas##L##trsv(Handle().is, FILL(upper), OP(t), CUBLAS_DIAG_NON_UNIT, n, a, lda, x, incx);                \
  }                                                                                                                   \
  EXPORT int L##syrk(I upper, I t, I n, I k, T *alpha, T *a, I lda, T *beta, T *c, I ldc) {                           \
    return cublas##L##syrk(Handle().is, FILL(upper), OP(t), n, k, alpha, a, lda, beta, c, ldc);                       \
  }                                                                                                                   \
  EXPORT int L##axpy(I n, T *alpha, T *x, I incx, T *y, I incy) {                                                     \
    return cublas##L##axpy_64(Handle().is, n, alpha, x, incx, y, incy);                                               \
  }                                                                                                                   \
  EXPORT int L##norms(I n, T *x, I incx, R *two, R *one, int *largest, I *smallest) {                                 \
    return cublas##N##nrm2(Handle().is, n, x, incx, two) | cublas##N##asum(Handle().is, n, x, incx, one) |            \
           cublasI##i##amax(Handle().is, n, x, incx, largest) | cublasI##i##amin_64(Handle().is, n, x, incx, smallest); \
  }                                                                                                                   \
  EXPORT int L##moves(I n, T *alpha, T *x, I incx, T *y, I incy, T *z) {                                              \
    return cublas##L##scal(Handle().is, n, alpha, x, incx) | cublas##L##swap(Handle().is, n, x, incx, y, incy) |      \
           cublas##L##copy(Handle().is, n, x, incx, z, 1);                                                            \
  }                                                                                                                   \
  EXPORT int L##getrf(I n, T **a, I lda, int *p, int *info, I batch) {                                                \
    return cublas##L##getrfBatched(Handle().is, n, a, lda, p, info, batch);                                           \
  }                                                                                                                   \
  EXPORT int L##getri(I n, T **a, I lda, int *p, T **c, I ldc, int *info, I batch) {                                  \
    return cublas##L##getriBatched(Handle().is, n, a, lda, p, c, ldc, info, batch);                                   \
  }                                                                                                                   \
  EXPORT int L##getrs(I t, I n, I columns, T **a, I lda, int *p, T **b, I ldb, int *info, I batch) {                  \
    return cublas##L##getrsBatched(Handle().is, OP(t), n, columns, a, lda, p, b, ldb, info, batch);                   \
  }                                                                                                                   \
  EXPORT int L##matinv(I n, T **a, I lda, T **c, I ldc, int *info, I batch) {                                         \
    return cublas##L##matinvBatched(Handle().is, n, a, lda, c, ldc, info, batch);                                     \
  }                                                                                                                   \
  EXPORT int L##gels(I m, I n, I columns, T **a, I lda, T **c, I ldc, int *info, int *zero, I batch) {                \
    return cublas##L##gelsBatched(Handle().is, CUBLAS_OP_N, m, n, columns, a, lda, c, ldc, info, zero, batch);        \
  }
EACH(S, float, S, float, s) EACH(D, double, D, double, d)
EACH(C, cuComplex, Sc, float, c) EACH(Z, cuDoubleComplex, Dz, double, z)
EXPORT int Sdot(I n, float *x, I ix, float *y, I iy, float *r) { return cublasSdot(Handle().is, n, x, ix, y, iy, r); }
EXPORT int Ddot(I n, double *x, I ix, double *y, I iy, double *r) { return cublasDdot(Handle().is, n, x, ix, y, iy, r); }
EXPORT int Cdot(I n, cuComplex *x, I ix, cuComplex *y, I iy, cuComplex *r) {
  return cublasCdotc(Handle().is, n, x, ix, y, iy, r);
}
EXPORT int Zdot(I n, cuDoubleComplex *x, I ix, cuDoubleComplex *y, I iy, cuDoubleComplex *r) {
  return cublasZdotc(Handle().is, n, x, ix, y, iy, r);
}
EXPORT int Sger(I m, I n, float *alpha, float *x, I ix, float *y, I iy, float *a, I lda) {
  return cublasSger(Handle().is, m, n, alpha, x, ix, y, iy, a, lda);
}
EXPORT int Zger(I m, I n, cuDoubleComplex *alpha, cuDoubleComplex *x, I ix, cuDoubleComplex *y, I iy,
                cuDoubleComplex *a, I lda) {
  return cublasZgerc(Handle().is, m, n, alpha, x, ix, y, iy, a, lda);
}
EXPORT int Dsymv(I upper, I n, double *alpha, double *a, double *x, double *beta, double *y) {
  return cublasDsymv(Handle().is, FILL(upper), n, alpha, a, n, x, 1, beta, y, 1);
}
EXPORT int Drot(I n, double *x, double *y, double *c, double *s) {
  return cublasDrot(Handle().is, n, x, 1, y, 1, c, s);
}
EXPORT int gemm_ex(I m, I n, I k, void *alpha, void *a, I a_type, void *b, I b_type, void *beta, void *c, I c_type,
                   I compute) {
  return cublasGemmEx(Handle().is, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, alpha, a, cudaDataType(a_type), m, b,
                      cudaDataType(b_type), n, beta, c, cudaDataType(c_type), m, cublasComputeType_t(compute),
                      CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}
EXPORT int Hgemm(I m, I n, I k, half *alpha, half *a, half *b, half *beta, half *c) {
  return cublasHgemm(Handle().is, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, alpha, a, m, b, n, beta, c, m);
}
EXPORT int dot_ex(I n, void *x, void *y, void *result, I type, I compute) {
  const cudaDataType t = cudaDataType(type);
  return cublasDotEx(Handle().is, n, x, t, 1, y, t, 1, result, t, cudaDataType(compute));
}
EXPORT int moved(I rows, I columns, float *from, I from_ld, float *to, I to_ld) {
  return cublasSetMatrix(rows, columns, 4, from, from_ld, to, to_ld);
}
EXPORT int device_scalars(I n, float *alpha, float *x, float *result) {
  Handle h;
  int status = cublasSetPointerMode(h.is, CUBLAS_POINTER_MODE_DEVICE) | cublasSscal(h.is, n, alpha, x, 1);
  return status | cublasSdot(h.is, n, x, 1, x, 1, result);
}
EXPORT int refused() {
  Handle h;
  cublasHandle_t gone;
  cublasCreate(&gone), cublasDestroy(gone);
  float one = 1, a[4] = {}, *none = nullptr;
  if (cublasSgemm(gone, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &one, a, 2) !=
      CUBLAS_STATUS_NOT_INITIALIZED) return 1;
  if (cublasDestroy(gone) != CUBLAS_STATUS_NOT_INITIALIZED) return 2;
  if (cublasSgemm(h.is, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 1, a, 2, &one, a, 2) !=
      CUBLAS_STATUS_INVALID_VALUE) return 3;
  if (cublasSgemm(h.is, CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, &one, a, 1, a, 2, &one, a, 2) !=
      CUBLAS_STATUS_INVALID_VALUE) return 4;
  if (cublasSgemm(h.is, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, none, a, 2, a, 2, &one, a, 2) !=
      CUBLAS_STATUS_INVALID_VALUE) return 5;
  if (cublasSgemm(h.is, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, none, 2, a, 2, &one, a, 2) !=
      CUBLAS_STATUS_EXECUTION_FAILED) return 6;
  if (cublasGemmEx(h.is, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, CUDA_R_8F_E4M3, 2, a, CUDA_R_8F_E4M3, 2, &one, a,
                   CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_NOT_SUPPORTED) return 7;
  if (cudaGetLastError() != cudaErrorNotSupported) return 8;
  float *device;
  cudaMalloc(&device, 15);
  if (cublasSscal(h.is, 4, &one, device, 1) != CUBLAS_STATUS_EXECUTION_FAILED) return 9;
  if (cudaGetLastError() != cudaErrorIllegalAddress) return 10;
  cudaFree(device);
  cudaStream_t given, back = nullptr;
  cudaStreamCreate(&given);
  if (cublasSetStream(h.is, given) || cublasGetStream(h.is, &back) || back != given) return 11;
  return 0;
}
EXPORT int called_what(I status, char *name, char *text) {
  strcpy(name, cublasGetStatusName(cublasStatus_t(status)));
  strcpy(text, cublasGetStatusString(cublasStatus_t(status)));
  return 0;
}
