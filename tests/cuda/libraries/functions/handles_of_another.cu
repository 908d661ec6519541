/* Built twice, as two libraries of one process: each has its own code for cuBLAS, cuSPARSE and cuRAND. */
#include <cublas_v2.h>
#include <curand.h>
#include <cusparse.h>
EXPORT int create(cublasHandle_t *blas, cusparseHandle_t *sparse, curandGenerator_t *random) {
  if (int status = cublasCreate(blas)) return status;
  if (int status = cusparseCreate(sparse)) return status;
  return curandCreateGeneratorHost(random, CURAND_RNG_PSEUDO_PHILOX4_32_10);
}
EXPORT int scale(cublasHandle_t *blas, int64_t n, double *x) {
  double two = 2;
  return cublasDscal(*blas, n, &two, x, 1);
}
EXPORT int set_mode(cusparseHandle_t *sparse) { return cusparseSetPointerMode(*sparse, CUSPARSE_POINTER_MODE_HOST); }
EXPORT int draw(curandGenerator_t *random, int64_t n, float *x) { return curandGenerateUniform(*random, x, n); }
EXPORT int destroy(cublasHandle_t *blas, cusparseHandle_t *sparse, curandGenerator_t *random) {
  if (int status = cublasDestroy(*blas)) return status;
  if (int status = cusparseDestroy(*sparse)) return status;
  return curandDestroyGenerator(*random);
}
EXPORT int confused(cusparseHandle_t *sparse, int64_t n, double *x) {
  double two = 2;
  return cublasDscal(*(cublasHandle_t *)sparse, n, &two, x, 1);
}
