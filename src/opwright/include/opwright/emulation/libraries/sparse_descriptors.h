/* cuSPARSE's descriptors: made and deleted by the program, without a call of the library. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_SPARSE_DESCRIPTORS_H
#define OPWRIGHT_EMULATION_LIBRARIES_SPARSE_DESCRIPTORS_H

#include "sparse_types.h"

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

inline cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t *made, int64_t size, int64_t count, void *indices,
                                            void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                            cudaDataType type) {
  if (!made || size < 0 || count < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *made = new cusparseSpVecDescr{size, count, indices, values, index_type, base, type};
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector) {
  delete vector;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vector, void *values) {
  vector->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void *values) {
  matrix->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void *values) {
  matrix->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t which,
                                                  const void *data, size_t bytes) {
  if (!matrix || !data || bytes != sizeof(cusparseFillMode_t)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (which == CUSPARSE_SPMAT_FILL_MODE) matrix->fill = *static_cast<const cusparseFillMode_t *>(data);
  else matrix->diagonal = *static_cast<const cusparseDiagType_t *>(data);
  return CUSPARSE_STATUS_SUCCESS;
}

/* Batches: matrices of the same size, one after the other. */
inline cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride) {
  if (count < 1 || stride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->batch = count, matrix->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets_stride,
                                                   int64_t values_stride) {
  if (count < 1 || offsets_stride < 0 || values_stride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->batch = count, matrix->offsets_stride = offsets_stride, matrix->values_stride = values_stride;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t stride) {
  return cusparseCsrSetStridedBatch(matrix, count, stride, stride);
}

/* What multi-step functions keep from one step to the next. */
#define OPWRIGHT_CUSPARSE_DESCRIPTOR(create, destroy, type) \
  inline cusparseStatus_t create(type **made) {             \
    if (!made) return CUSPARSE_STATUS_INVALID_VALUE;        \
    *made = new type;                                       \
    return CUSPARSE_STATUS_SUCCESS;                         \
  }                                                         \
  inline cusparseStatus_t destroy(const type *descriptor) { \
    delete descriptor;                                      \
    return CUSPARSE_STATUS_SUCCESS;                         \
  }
OPWRIGHT_CUSPARSE_DESCRIPTOR(cusparseSpGEMM_createDescr, cusparseSpGEMM_destroyDescr, cusparseSpGEMMDescr)
OPWRIGHT_CUSPARSE_DESCRIPTOR(cusparseSpSV_createDescr, cusparseSpSV_destroyDescr, cusparseSpSVDescr)
OPWRIGHT_CUSPARSE_DESCRIPTOR(cusparseSpSM_createDescr, cusparseSpSM_destroyDescr, cusparseSpSMDescr)
OPWRIGHT_CUSPARSE_DESCRIPTOR(cusparseCreateMatDescr, cusparseDestroyMatDescr, cusparseMatDescr)
OPWRIGHT_CUSPARSE_DESCRIPTOR(cusparseCreateCsrilu02Info, cusparseDestroyCsrilu02Info, csrilu02Info)
#undef OPWRIGHT_CUSPARSE_DESCRIPTOR

#endif
