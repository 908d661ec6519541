/* What stands behind cuSPARSE's generic functions. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_SPARSE_H
#define OPWRIGHT_EMULATION_LIBRARIES_SPARSE_H

#include "blas.h"
#include "sparse_types.h"

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

/* C's elements become alpha op(A) op(B) there, + beta C. */
cusparseStatus_t sampled_multiply(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op,
                                  const void *alpha, const cusparseDnMatDescr *a, const cusparseDnMatDescr *b,
                                  const void *beta, const cusparseSpMatDescr *c, cudaDataType compute);
/* First which elements the product of two sparse matrices has; then, into memory of that size, all of them. */
cusparseStatus_t count_product(const Call &call, const cusparseSpMatDescr *a, const cusparseSpMatDescr *b,
                               cusparseSpMatDescr *c, cudaDataType compute, cusparseSpGEMMDescr *product);
cusparseStatus_t sparse_multiply(const Call &call, const void *alpha, const cusparseSpMatDescr *a,
                                 const cusparseSpMatDescr *b, const void *beta, const cusparseSpMatDescr *c,
                                 cudaDataType compute, const cusparseSpGEMMDescr *product);
/* op(A) C = alpha op(B) for a triangle of A. */
cusparseStatus_t solve(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                       const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const cusparseDnMatDescr *c,
                       cudaDataType compute, const cusparseSpSVDescr *solver);
/* A becomes L and U, without further elements. */
cusparseStatus_t factorize(const Call &call, const cusparseSpMatDescr *a, csrilu02Info *info);

/* y = alpha x + beta y. */
cusparseStatus_t add(const Call &call, const void *alpha, const cusparseSpVecDescr *x, const void *beta,
                     const cusparseDnVecDescr *y);
cusparseStatus_t gather(const Call &call, const cusparseDnVecDescr *y, const cusparseSpVecDescr *x);
cusparseStatus_t scatter(const Call &call, const cusparseSpVecDescr *x, const cusparseDnVecDescr *y);
cusparseStatus_t dot(const Call &call, cusparseOperation_t op, const cusparseSpVecDescr *x, const cusparseDnVecDescr *y,
                     void *result, cudaDataType compute);

/* The same matrix by columns; without the values where they aren't wanted. */
cusparseStatus_t turn(const Call &call, const cusparseSpMatDescr *by_rows, const cusparseSpMatDescr *by_columns,
                      bool values);
/* The columns of each row in order, and `order` as they were moved. */
cusparseStatus_t sort_rows(const Call &call, const cusparseSpMatDescr *a, int *order);
cusparseStatus_t identity(const Call &call, int n, int *order);
/* How many elements of each row (or column) aren't zero, and all together. */
cusparseStatus_t count(const Call &call, cusparseDirection_t by, const cusparseDnMatDescr *a, int *each, int *all);

}  // namespace sparse
}  // namespace emulation
}  // namespace opwright
#endif
