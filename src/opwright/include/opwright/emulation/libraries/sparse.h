/* What stands behind cuSPARSE's generic functions. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_SPARSE_H
#define OPWRIGHT_EMULATION_LIBRARIES_SPARSE_H

#include "blas.h"

typedef enum {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;
typedef enum { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 } cusparsePointerMode_t;
typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;
typedef enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_FORMAT_CSR = 1, CUSPARSE_FORMAT_CSC = 2, CUSPARSE_FORMAT_COO = 3 } cusparseFormat_t;

typedef struct cusparseContext *cusparseHandle_t;
/* The program's own, by pointer: made and deleted in cusparse.h. */
struct cusparseSpMatDescr {
  cusparseFormat_t format;
  int64_t rows, columns, count;
  void *offsets, *indices, *values; /* of CSC: by columns; of COO: the rows and the columns */
  cusparseIndexType_t offset_type, index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};
struct cusparseDnVecDescr {
  int64_t size;
  void *values;
  cudaDataType type;
};
struct cusparseDnMatDescr {
  int64_t rows, columns, ld;
  void *values;
  cudaDataType type;
  cusparseOrder_t order;
};

namespace opwright {
namespace emulation {
namespace sparse {

struct Call {
  cusparseHandle_t handle;
  const char *name, *file;
  int line;
};
cusparseStatus_t create(cusparseHandle_t *handle);
cusparseStatus_t destroy(const Call &call);
cusparseStatus_t stream(const Call &call, cudaStream_t value);
cusparseStatus_t pointer_mode(const Call &call, cusparsePointerMode_t value);
const char *status_name(cusparseStatus_t status);
const char *status_text(cusparseStatus_t status);

/* C = alpha op(A) op(B) + beta C; a vector is a matrix of one column. */
cusparseStatus_t multiply(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                          const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const void *beta,
                          const cusparseDnMatDescr *c, cudaDataType compute);
cusparseStatus_t to_dense(const Call &call, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b);
/* First how many elements aren't zero, and the offsets; then, into memory of that size, all of them. */
cusparseStatus_t count_dense(const Call &call, const cusparseDnMatDescr *a, cusparseSpMatDescr *b);
cusparseStatus_t from_dense(const Call &call, const cusparseDnMatDescr *a, const cusparseSpMatDescr *b);

}  // namespace sparse
}  // namespace emulation
}  // namespace opwright
#endif
