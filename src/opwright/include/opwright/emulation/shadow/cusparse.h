/* cuSPARSE's generic functions, on the CPU. */
#ifndef OPWRIGHT_EMULATION_CUSPARSE_H
#define OPWRIGHT_EMULATION_CUSPARSE_H
#define CUSPARSE_H_ /* CUDA's own include guard */
#define CUSPARSEAPI

#include "cuda_runtime.h"

#include "../libraries/sparse.h"
#include "../libraries/sparse_descriptors.h"

#define CUSPARSE_VERSION 12500
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 5

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
OPWRIGHT_CUSPARSE_SIZE(cusparseSDDMM_bufferSize, cusparseOperation_t, cusparseOperation_t, const void *,
                       cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void *, cusparseSpMatDescr_t,
                       cudaDataType, cusparseSDDMMAlg_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseSpSV_bufferSize, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t,
                       cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
                       cusparseSpSVDescr_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseSpSM_bufferSize, cusparseOperation_t, cusparseOperation_t, const void *,
                       cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType,
                       cusparseSpSMAlg_t, cusparseSpSMDescr_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseSpVV_bufferSize, cusparseOperation_t, cusparseConstSpVecDescr_t,
                       cusparseConstDnVecDescr_t, const void *, cudaDataType)
OPWRIGHT_CUSPARSE_SIZE(cusparseCsr2cscEx2_bufferSize, int, int, int, const void *, const int *, const int *, void *,
                       int *, int *, cudaDataType, cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t)
OPWRIGHT_CUSPARSE_SIZE(cusparseXcsrsort_bufferSizeExt, int, int, int, const int *, const int *)
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
/* Nothing is prepared: the products look at the matrices themselves. */
inline cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t, cusparseOperation_t, const void *,
                                                cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *,
                                                cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void *) {
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                                const void *, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                                void *) {
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                                 const void *, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t,
                                                 const void *, cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t,
                                                 void *) {
  return CUSPARSE_STATUS_SUCCESS;
}
OPWRIGHT_CUSPARSE(cusparseSDDMM, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                  cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseSpMatDescr_t c,
                  cudaDataType compute, cusparseSDDMMAlg_t, void *) {
  return ::opwright::emulation::sparse::sampled_multiply(OPWRIGHT_CUSPARSE_CALL(cusparseSDDMM), a_op, b_op, alpha, a, b,
                                                         beta, c, compute);
}

/* A product of sparse matrices is three calls: the first two are made twice, the first time for a size, without memory. That
 * size isn't 0, for which cudaMalloc gives no memory. */
#define OPWRIGHT_CUSPARSE_PRODUCT                                                                     \
  cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha, cusparseConstSpMatDescr_t a, \
      cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute,    \
      cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product
OPWRIGHT_CUSPARSE(cusparseSpGEMM_workEstimation, OPWRIGHT_CUSPARSE_PRODUCT, size_t *bytes, void *memory) {
  if (a_op != CUSPARSE_OPERATION_NON_TRANSPOSE || b_op != CUSPARSE_OPERATION_NON_TRANSPOSE)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (!handle || !alpha || !a || !b || !beta || !c || !product || !bytes) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!memory) *bytes = 16;
  (void)compute, (void)file, (void)line;
  return CUSPARSE_STATUS_SUCCESS;
}
OPWRIGHT_CUSPARSE(cusparseSpGEMM_compute, OPWRIGHT_CUSPARSE_PRODUCT, size_t *bytes, void *memory) {
  if (a_op != CUSPARSE_OPERATION_NON_TRANSPOSE || b_op != CUSPARSE_OPERATION_NON_TRANSPOSE)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (!alpha || !beta || !bytes) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!memory) return *bytes = 16, CUSPARSE_STATUS_SUCCESS;
  return ::opwright::emulation::sparse::count_product(OPWRIGHT_CUSPARSE_CALL(cusparseSpGEMM_compute), a, b, c, compute,
                                                      product);
}
OPWRIGHT_CUSPARSE(cusparseSpGEMM_copy, OPWRIGHT_CUSPARSE_PRODUCT) {
  if (a_op != CUSPARSE_OPERATION_NON_TRANSPOSE || b_op != CUSPARSE_OPERATION_NON_TRANSPOSE)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  return ::opwright::emulation::sparse::sparse_multiply(OPWRIGHT_CUSPARSE_CALL(cusparseSpGEMM_copy), alpha, a, b, beta,
                                                        c, compute, product);
}
#undef OPWRIGHT_CUSPARSE_PRODUCT
inline cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t product, int64_t *count) {
  if (!product || !count || product->products < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *count = product->products;
  return CUSPARSE_STATUS_SUCCESS;
}

/* Triangular systems. */
inline cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t, cusparseOperation_t, const void *,
                                              cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t,
                                              cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
                                              cusparseSpSVDescr_t solver, void *) {
  if (!solver) return CUSPARSE_STATUS_INVALID_VALUE;
  solver->analysed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
OPWRIGHT_CUSPARSE(cusparseSpSV_solve, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,
                  cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                  cusparseSpSVDescr_t solver) {
  if (!x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  const cusparseDnMatDescr b{x->size, 1, x->size, x->values, x->type, CUSPARSE_ORDER_COL};
  const cusparseDnMatDescr c{y->size, 1, y->size, y->values, y->type, CUSPARSE_ORDER_COL};
  return ::opwright::emulation::sparse::solve(OPWRIGHT_CUSPARSE_CALL(cusparseSpSV_solve), op,
                                              CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, &b, &c, compute, solver);
}
inline cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
                                              cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                              cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
                                              cusparseSpSMDescr_t solver, void *) {
  if (!solver) return CUSPARSE_STATUS_INVALID_VALUE;
  solver->analysed = true;
  return CUSPARSE_STATUS_SUCCESS;
}
OPWRIGHT_CUSPARSE(cusparseSpSM_solve, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                  cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c,
                  cudaDataType compute, cusparseSpSMAlg_t, cusparseSpSMDescr_t solver) {
  return ::opwright::emulation::sparse::solve(OPWRIGHT_CUSPARSE_CALL(cusparseSpSM_solve), a_op, b_op, alpha, a, b, c,
                                              compute, solver);
}

/* Sparse vectors. */
OPWRIGHT_CUSPARSE(cusparseAxpby, const void *alpha, cusparseConstSpVecDescr_t x, const void *beta,
                  cusparseDnVecDescr_t y) {
  return ::opwright::emulation::sparse::add(OPWRIGHT_CUSPARSE_CALL(cusparseAxpby), alpha, x, beta, y);
}
OPWRIGHT_CUSPARSE(cusparseGather, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  return ::opwright::emulation::sparse::gather(OPWRIGHT_CUSPARSE_CALL(cusparseGather), y, x);
}
OPWRIGHT_CUSPARSE(cusparseScatter, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  return ::opwright::emulation::sparse::scatter(OPWRIGHT_CUSPARSE_CALL(cusparseScatter), x, y);
}
OPWRIGHT_CUSPARSE(cusparseSpVV, cusparseOperation_t op, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                  void *result, cudaDataType compute, void *) {
  return ::opwright::emulation::sparse::dot(OPWRIGHT_CUSPARSE_CALL(cusparseSpVV), op, x, y, result, compute);
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

#include "../libraries/sparse_compressed.h"

#undef OPWRIGHT_CUSPARSE
#undef OPWRIGHT_CUSPARSE_CALL

#endif
