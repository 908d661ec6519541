/* cuSPARSE's functions over the three arrays of a compressed matrix, of before the generic ones. Included by cusparse.h. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_SPARSE_COMPRESSED_H
#define OPWRIGHT_EMULATION_LIBRARIES_SPARSE_COMPRESSED_H

inline cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t matrix, cusparseMatrixType_t type) {
  matrix->type = type;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t matrix, cusparseFillMode_t fill) {
  matrix->fill = fill;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t matrix, cusparseDiagType_t diagonal) {
  matrix->diagonal = diagonal;
  return CUSPARSE_STATUS_SUCCESS;
}
inline cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t matrix, cusparseIndexBase_t base) {
  matrix->base = base;
  return CUSPARSE_STATUS_SUCCESS;
}

namespace opwright {
namespace emulation {
namespace sparse {
inline cusparseSpMatDescr compressed(cusparseFormat_t format, int rows, int columns, int count, const int *offsets,
                                     const int *indices, const void *values, cusparseIndexBase_t base,
                                     cudaDataType type) {
  return {format,
          rows,
          columns,
          count,
          const_cast<int *>(offsets),
          const_cast<int *>(indices),
          const_cast<void *>(values),
          CUSPARSE_INDEX_32I,
          CUSPARSE_INDEX_32I,
          base,
          type};
}
}  // namespace sparse
}  // namespace emulation
}  // namespace opwright

OPWRIGHT_CUSPARSE(cusparseCsr2cscEx2, int m, int n, int count, const void *values, const int *offsets,
                  const int *columns, void *turned_values, int *turned_offsets, int *rows, cudaDataType type,
                  cusparseAction_t action, cusparseIndexBase_t base, cusparseCsr2CscAlg_t, void *) {
  const auto from =
      ::opwright::emulation::sparse::compressed(CUSPARSE_FORMAT_CSR, m, n, count, offsets, columns, values, base, type);
  const auto to = ::opwright::emulation::sparse::compressed(CUSPARSE_FORMAT_CSC, m, n, count, turned_offsets, rows,
                                                            turned_values, base, type);
  return ::opwright::emulation::sparse::turn(OPWRIGHT_CUSPARSE_CALL(cusparseCsr2cscEx2), &from, &to,
                                             action == CUSPARSE_ACTION_NUMERIC);
}
OPWRIGHT_CUSPARSE(cusparseXcsrsort, int m, int n, int count, cusparseMatDescr_t matrix, const int *offsets,
                  int *columns, int *order, void *) {
  if (!matrix) return CUSPARSE_STATUS_INVALID_VALUE;
  const auto a = ::opwright::emulation::sparse::compressed(CUSPARSE_FORMAT_CSR, m, n, count, offsets, columns, nullptr,
                                                           matrix->base, CUDA_R_32F);
  return ::opwright::emulation::sparse::sort_rows(OPWRIGHT_CUSPARSE_CALL(cusparseXcsrsort), &a, order);
}
OPWRIGHT_CUSPARSE(cusparseCreateIdentityPermutation, int n, int *order) {
  return ::opwright::emulation::sparse::identity(OPWRIGHT_CUSPARSE_CALL(cusparseCreateIdentityPermutation), n, order);
}
OPWRIGHT_CUSPARSE(cusparseXcsrilu02_zeroPivot, csrilu02Info_t info, int *position) {
  (void)handle, (void)file, (void)line;
  if (!info || !position) return CUSPARSE_STATUS_INVALID_VALUE;
  *position = info->zero_pivot;
  return info->zero_pivot < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
typedef enum { CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0, CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1 } cusparseSolvePolicy_t;

#define OPWRIGHT_CUSPARSE_TYPED(letter, T, type)                                                                      \
  OPWRIGHT_CUSPARSE(cusparse##letter##nnz, cusparseDirection_t by, int m, int n, cusparseMatDescr_t, const T *values, \
                    int ld, int *each, int *all) {                                                                    \
    const cusparseDnMatDescr a{m, n, ld, const_cast<T *>(values), type, CUSPARSE_ORDER_COL};                          \
    return ::opwright::emulation::sparse::count(OPWRIGHT_CUSPARSE_CALL(cusparse##letter##nnz), by, &a, each, all);    \
  }                                                                                                                   \
  inline cusparseStatus_t cusparse##letter##csrilu02_bufferSize(                                                      \
      cusparseHandle_t, int, int, cusparseMatDescr_t, T *, const int *, const int *, csrilu02Info_t, int *bytes) {    \
    *bytes = 0;                                                                                                       \
    return CUSPARSE_STATUS_SUCCESS;                                                                                   \
  }                                                                                                                   \
  inline cusparseStatus_t cusparse##letter##csrilu02_analysis(cusparseHandle_t, int, int, cusparseMatDescr_t,         \
                                                              const T *, const int *, const int *,                    \
                                                              csrilu02Info_t info, cusparseSolvePolicy_t, void *) {   \
    if (!info) return CUSPARSE_STATUS_INVALID_VALUE;                                                                  \
    info->zero_pivot = -1;                                                                                            \
    return CUSPARSE_STATUS_SUCCESS;                                                                                   \
  }                                                                                                                   \
  OPWRIGHT_CUSPARSE(cusparse##letter##csrilu02, int m, int count, cusparseMatDescr_t matrix, T *values,               \
                    const int *offsets, const int *columns, csrilu02Info_t info, cusparseSolvePolicy_t, void *) {     \
    if (!matrix) return CUSPARSE_STATUS_INVALID_VALUE;                                                                \
    const auto a = ::opwright::emulation::sparse::compressed(CUSPARSE_FORMAT_CSR, m, m, count, offsets, columns,      \
                                                             values, matrix->base, type);                             \
    return ::opwright::emulation::sparse::factorize(OPWRIGHT_CUSPARSE_CALL(cusparse##letter##csrilu02), &a, info);    \
  }
OPWRIGHT_CUSPARSE_TYPED(S, float, CUDA_R_32F)
OPWRIGHT_CUSPARSE_TYPED(D, double, CUDA_R_64F)
OPWRIGHT_CUSPARSE_TYPED(C, cuComplex, CUDA_C_32F)
OPWRIGHT_CUSPARSE_TYPED(Z, cuDoubleComplex, CUDA_C_64F)
#undef OPWRIGHT_CUSPARSE_TYPED

#endif
