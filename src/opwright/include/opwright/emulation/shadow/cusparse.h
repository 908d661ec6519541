/* cuSPARSE's generic functions, on the CPU. */
#ifndef OPWRIGHT_EMULATION_CUSPARSE_H
#define OPWRIGHT_EMULATION_CUSPARSE_H

#include "cuda_runtime.h"

#include "../libraries/sparse.h"

#define CUSPARSE_VERSION 12500
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 5
typedef cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef const cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef const cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef const cusparseDnMatDescr *cusparseConstDnMatDescr_t;
/* Algorithms change nothing. */
typedef enum {
  CUSPARSE_MV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_COO_ALG2 = 4
} cusparseSpMVAlg_t;
typedef enum {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_COO_ALG2 = 2,
  CUSPARSE_SPMM_COO_ALG3 = 3,
  CUSPARSE_SPMM_COO_ALG4 = 5,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12
} cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;

#define OPWRIGHT_CUSPARSE(name, ...) \
  inline cusparseStatus_t name(cusparseHandle_t handle, __VA_ARGS__, OPWRIGHT_EMULATION_HERE)
#define OPWRIGHT_CUSPARSE_CALL(name) \
  ::opwright::emulation::sparse::Call { handle, #name, file, line }

inline cusparseStatus_t cusparseCreate(cusparseHandle_t *handle) {
  return ::opwright::emulation::sparse::create(handle);
}
inline cusparseStatus_t cusparseDestroy(cusparseHandle_t handle, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::sparse::destroy(OPWRIGHT_CUSPARSE_CALL(cusparseDestroy));
}
OPWRIGHT_CUSPARSE(cusparseSetStream, cudaStream_t stream) {
  return ::opwright::emulation::sparse::stream(OPWRIGHT_CUSPARSE_CALL(cusparseSetStream), stream);
}
OPWRIGHT_CUSPARSE(cusparseSetPointerMode, cusparsePointerMode_t mode) {
  return ::opwright::emulation::sparse::pointer_mode(OPWRIGHT_CUSPARSE_CALL(cusparseSetPointerMode), mode);
}
inline const char *cusparseGetErrorName(cusparseStatus_t status) {
  return ::opwright::emulation::sparse::status_name(status);
}
inline const char *cusparseGetErrorString(cusparseStatus_t status) {
  return ::opwright::emulation::sparse::status_text(status);
}
inline cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int *version) {
  *version = CUSPARSE_VERSION;
  return CUSPARSE_STATUS_SUCCESS;
}

inline cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *made, int64_t rows, int64_t columns, int64_t count,
                                          void *offsets, void *indices, void *values, cusparseIndexType_t offset_type,
                                          cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  if (!made || rows < 0 || columns < 0 || count < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *made = new cusparseSpMatDescr{CUSPARSE_FORMAT_CSR, rows,       columns, count, offsets, indices, values,
                                 offset_type,         index_type, base,    type};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t *made, int64_t rows, int64_t columns, int64_t count,
                                          void *offsets, void *indices, void *values, cusparseIndexType_t offset_type,
                                          cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  const cusparseStatus_t status =
      cusparseCreateCsr(made, rows, columns, count, offsets, indices, values, offset_type, index_type, base, type);
  if (status == CUSPARSE_STATUS_SUCCESS) (*made)->format = CUSPARSE_FORMAT_CSC;
  return status;
}
inline cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *made, int64_t rows, int64_t columns, int64_t count,
                                          void *row_indices, void *column_indices, void *values,
                                          cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {
  const cusparseStatus_t status = cusparseCreateCsr(made, rows, columns, count, row_indices, column_indices, values,
                                                    index_type, index_type, base, type);
  if (status == CUSPARSE_STATUS_SUCCESS) (*made)->format = CUSPARSE_FORMAT_COO;
  return status;
}
inline cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns,
                                             int64_t *count) {
  *rows = matrix->rows, *columns = matrix->columns, *count = matrix->count;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices,
                                               void *values) {
  matrix->offsets = offsets, matrix->indices = indices, matrix->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *rows, void *columns, void *values) {
  return cusparseCsrSetPointers(matrix, rows, columns, values);
}
inline cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *made, int64_t size, void *values, cudaDataType type) {
  if (!made || size < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *made = new cusparseDnVecDescr{size, values, type};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) {
  delete vector;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *values) {
  vector->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *made, int64_t rows, int64_t columns, int64_t ld,
                                            void *values, cudaDataType type, cusparseOrder_t order) {
  if (!made || rows < 0 || columns < 0 || ld < (order == CUSPARSE_ORDER_ROW ? columns : rows))
    return CUSPARSE_STATUS_INVALID_VALUE;
  *made = new cusparseDnMatDescr{rows, columns, ld, values, type, order};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}

/* What a function is asked for first: how much memory it wants besides, which is none. */
#define OPWRIGHT_CUSPARSE_SIZE(name, ...)                                      \
  inline cusparseStatus_t name(cusparseHandle_t, __VA_ARGS__, size_t *bytes) { \
    *bytes = 0;                                                                \
    return CUSPARSE_STATUS_SUCCESS;                                            \
  }
OPWRIGHT_CUSPARSE_SIZE(cusparseSpMV_bufferSize, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
                       cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseSpMM_bufferSize, cusparseOperation_t, cusparseOperation_t, const void *,
                       cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *, cusparseDnMatDescr_t,
                       cudaDataType, cusparseSpMMAlg_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseSparseToDense_bufferSize, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
                       cusparseSparseToDenseAlg_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseDenseToSparse_bufferSize, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
                       cusparseDenseToSparseAlg_t)
#undef OPWRIGHT_CUSPARSE_SIZE

OPWRIGHT_CUSPARSE(cusparseSpMV, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,
                  cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType compute,
                  cusparseSpMVAlg_t, void *) {
  if (!x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  const cusparseDnMatDescr b{x->size, 1, x->size, x->values, x->type, CUSPARSE_ORDER_COL};
  const cusparseDnMatDescr c{y->size, 1, y->size, y->values, y->type, CUSPARSE_ORDER_COL};
  return ::opwright::emulation::sparse::multiply(OPWRIGHT_CUSPARSE_CALL(cusparseSpMV), op,
                                                 CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, &b, beta, &c, compute);
}
OPWRIGHT_CUSPARSE(cusparseSpMM, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                  cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c,
                  cudaDataType compute, cusparseSpMMAlg_t, void *) {
  return ::opwright::emulation::sparse::multiply(OPWRIGHT_CUSPARSE_CALL(cusparseSpMM), a_op, b_op, alpha, a, b, beta, c,
                                                 compute);
}
OPWRIGHT_CUSPARSE(cusparseSparseToDense, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                  cusparseSparseToDenseAlg_t, void *) {
  return ::opwright::emulation::sparse::to_dense(OPWRIGHT_CUSPARSE_CALL(cusparseSparseToDense), a, b);
}
OPWRIGHT_CUSPARSE(cusparseDenseToSparse_analysis, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                  cusparseDenseToSparseAlg_t, void *) {
  return ::opwright::emulation::sparse::count_dense(OPWRIGHT_CUSPARSE_CALL(cusparseDenseToSparse_analysis), a, b);
}
OPWRIGHT_CUSPARSE(cusparseDenseToSparse_convert, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b,
                  cusparseDenseToSparseAlg_t, void *) {
  return ::opwright::emulation::sparse::from_dense(OPWRIGHT_CUSPARSE_CALL(cusparseDenseToSparse_convert), a, b);
}
#undef OPWRIGHT_CUSPARSE
#undef OPWRIGHT_CUSPARSE_CALL

#endif
