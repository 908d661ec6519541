/* cuBLASLt's products of matrices, on the CPU. Any algorithm is the same one: the heuristic has one result. */
#ifndef OPWRIGHT_EMULATION_CUBLASLT_H
#define OPWRIGHT_EMULATION_CUBLASLT_H

#include "cublas_v2.h"

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct { uint64_t data[8]; } cublasLtMatrixLayoutOpaque_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef struct { uint64_t data[32]; } cublasLtMatmulDescOpaque_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulPreferenceOpaque_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;

typedef enum {
  CUBLASLT_ORDER_COL = 0,
  CUBLASLT_ORDER_ROW = 1,
  CUBLASLT_ORDER_COL32 = 2,
  CUBLASLT_ORDER_COL4_4R2_8C = 3,
  CUBLASLT_ORDER_COL32_2R_4R4 = 4
} cublasLtOrder_t;
typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
  CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET = 7
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_TRANSC = 5,
  CUBLASLT_MATMUL_DESC_FILL_MODE = 6,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13,
  CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE = 14,
  CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET = 15,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_C_SCALE_POINTER = 19,
  CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20,
  CUBLASLT_MATMUL_DESC_AMAX_D_POINTER = 21,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE = 22,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER = 23,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER = 24,
  CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
  CUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO = 3,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4
} cublasLtPointerMode_t;
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_RELU_AUX = 2 | 128,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 2 | 4,
  CUBLASLT_EPILOGUE_RELU_AUX_BIAS = 2 | 128 | 4,
  CUBLASLT_EPILOGUE_DRELU = 8 | 128,
  CUBLASLT_EPILOGUE_DRELU_BGRAD = 8 | 128 | 16,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_AUX = 32 | 128,
  CUBLASLT_EPILOGUE_GELU_BIAS = 32 | 4,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 32 | 128 | 4,
  CUBLASLT_EPILOGUE_DGELU = 64 | 128,
  CUBLASLT_EPILOGUE_DGELU_BGRAD = 64 | 128 | 16,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512
} cublasLtEpilogue_t;
typedef enum {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
  CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9,
  CUBLASLT_MATMUL_PREF_IMPL_MASK = 12
} cublasLtMatmulPreferenceAttributes_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

namespace opwright {
namespace emulation {
namespace blas {

cublasStatus_t lt_create(cublasLtHandle_t *handle);
cublasStatus_t lt_destroy(cublasLtHandle_t handle);
cublasStatus_t layout_init(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows, uint64_t columns,
                           int64_t ld);
cublasStatus_t layout_field(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, void *value,
                            size_t bytes, bool set);
cublasStatus_t matmul_init(cublasLtMatmulDesc_t matmul, cublasComputeType_t compute, cudaDataType scale);
cublasStatus_t matmul_field(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t which, void *value,
                            size_t bytes, bool set);
struct Product {
  const void *data[4]; /* A, B, C, D */
  cublasLtMatrixLayout_t layouts[4];
};
/* Only whether it can be done, or does it. */
cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void *alpha, const void *beta,
                      const Product &product, bool only_ask, const Called &called);

/* What Create and Destroy do for any of the opaque types. */
template <class Opaque, class Init> cublasStatus_t made(Opaque **into, Init init) {
  if (!into) return CUBLAS_STATUS_INVALID_VALUE;
  Opaque *fresh = new Opaque();
  const cublasStatus_t status = init(fresh);
  if (status == CUBLAS_STATUS_SUCCESS) *into = fresh;
  else delete fresh;
  return status;
}

}  // namespace blas
}  // namespace emulation
}  // namespace opwright

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  return ::opwright::emulation::blas::lt_create(handle);
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return ::opwright::emulation::blas::lt_destroy(handle);
}
inline size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
inline const char *cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }
inline const char *cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows,
                                               uint64_t columns, int64_t ld) {
  return ::opwright::emulation::blas::layout_init(layout, type, rows, columns, ld);
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t ld) {
  return ::opwright::emulation::blas::made(
      layout, [=](auto *fresh) { return cublasLtMatrixLayoutInit(fresh, type, rows, columns, ld); });
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t which, const void *value,
                                                       size_t bytes) {
  return ::opwright::emulation::blas::layout_field(layout, which, (void *)value, bytes, true);
}
inline cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t which, void *value, size_t bytes,
                                                       size_t *written) {
  if (written) *written = bytes;
  return ::opwright::emulation::blas::layout_field(layout, which, value, bytes, false);
}

inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t matmul, cublasComputeType_t compute,
                                             cudaDataType scale) {
  return ::opwright::emulation::blas::matmul_init(matmul, compute, scale);
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmul, cublasComputeType_t compute,
                                               cudaDataType scale) {
  return ::opwright::emulation::blas::made(matmul,
                                           [=](auto *fresh) { return cublasLtMatmulDescInit(fresh, compute, scale); });
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul) {
  delete matmul;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t which,
                                                     const void *value, size_t bytes) {
  return ::opwright::emulation::blas::matmul_field(matmul, which, (void *)value, bytes, true);
}
inline cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t which,
                                                     void *value, size_t bytes, size_t *written) {
  if (written) *written = bytes;
  return ::opwright::emulation::blas::matmul_field(matmul, which, value, bytes, false);
}

/* A preference is about algorithms: taken, and forgotten. */
inline cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  return preference ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  return ::opwright::emulation::blas::made(preference, [](auto *fresh) { return cublasLtMatmulPreferenceInit(fresh); });
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                           cublasLtMatmulPreferenceAttributes_t, const void *value,
                                                           size_t) {
  return preference && value ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t, int asked,
                                                     cublasLtMatmulHeuristicResult_t *results, int *returned,
                                                     OPWRIGHT_EMULATION_HERE) {
  if (!results || !returned || asked < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  const cublasStatus_t status = ::opwright::emulation::blas::matmul(
      handle, matmul, nullptr, nullptr, {{}, {a, b, c, d}}, true, {"cublasLtMatmulAlgoGetHeuristic", file, line});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *results = cublasLtMatmulHeuristicResult_t();
  results->wavesCount = 1;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void *alpha,
                                     const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                                     cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                                     cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                                     const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t stream,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::blas::matmul(handle, matmul, alpha, beta,
                                             {{a, b, c, d}, {a_layout, b_layout, c_layout, d_layout}}, false,
                                             {"cublasLtMatmul", file, line, stream, true});
}

#endif
