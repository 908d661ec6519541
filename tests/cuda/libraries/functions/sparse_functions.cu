#include <cusparse.h>
typedef int64_t I;
#define TRY(call) do { if (const cusparseStatus_t status = (call)) return status; } while (0)
struct Handle {
  cusparseHandle_t is;
  Handle() { cusparseCreate(&is); }
  ~Handle() { cusparseDestroy(is); }
};
static cusparseStatus_t made(cusparseSpMatDescr_t *a, I format, I rows, I columns, I count, void *offsets, void *indices,
                             void *values, I wide, I base, I type) {
  const cusparseIndexType_t index = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const cusparseIndexBase_t from = cusparseIndexBase_t(base);
  const cudaDataType t = cudaDataType(type);
  if (format == CUSPARSE_FORMAT_COO)
    return cusparseCreateCoo(a, rows, columns, count, offsets, indices, values, index, from, t);
  if (format == CUSPARSE_FORMAT_CSC)
    return cusparseCreateCsc(a, rows, columns, count, offsets, indices, values, index, index, from, t);
  return cusparseCreateCsr(a, rows, columns, count, offsets, indices, values, index, index, from, t);
}
EXPORT int spmv(I format, I rows, I columns, I count, void *offsets, void *indices, void *values, I wide, I base, I type,
                I op, void *alpha, void *x, void *beta, void *y) {
  Handle h;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t vx, vy;
  size_t bytes = 1;
  const cudaDataType t = cudaDataType(type);
  const cusparseOperation_t o = cusparseOperation_t(op);
  TRY(made(&a, format, rows, columns, count, offsets, indices, values, wide, base, type));
  TRY(cusparseCreateDnVec(&vx, op ? rows : columns, x, t));
  TRY(cusparseCreateDnVec(&vy, op ? columns : rows, y, t));
  TRY(cusparseSpMV_bufferSize(h.is, o, alpha, a, vx, beta, vy, t, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  const cusparseStatus_t status = cusparseSpMV(h.is, o, alpha, a, vx, beta, vy, t, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
  TRY(cusparseDestroySpMat(a));
  TRY(cusparseDestroyDnVec(vx));
  TRY(cusparseDestroyDnVec(vy));
  return status ? int(status) : int(bytes);
}
EXPORT int spmm(I format, I rows, I columns, I count, void *offsets, void *indices, void *values, I type, I a_op, I b_op,
                I order, void *alpha, void *b, I b_rows, I b_columns, void *beta, void *c, I c_rows, I c_columns) {
  Handle h;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t mb, mc;
  const cudaDataType t = cudaDataType(type);
  const cusparseOrder_t o = cusparseOrder_t(order);
  const bool by_rows = o == CUSPARSE_ORDER_ROW;
  TRY(made(&a, format, rows, columns, count, offsets, indices, values, 0, 0, type));
  TRY(cusparseCreateDnMat(&mb, b_rows, b_columns, by_rows ? b_columns : b_rows, b, t, o));
  TRY(cusparseCreateDnMat(&mc, c_rows, c_columns, by_rows ? c_columns : c_rows, c, t, o));
  TRY(cusparseSpMM(h.is, cusparseOperation_t(a_op), cusparseOperation_t(b_op), alpha, a, mb, beta, mc, t,
                   CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
  TRY(cusparseDestroySpMat(a));
  TRY(cusparseDestroyDnMat(mb));
  return cusparseDestroyDnMat(mc);
}
/* To sparse and back. */
EXPORT int round_trip(I format, I rows, I columns, float *dense, void *offsets, void *indices, float *values, I most,
                      float *back, I base) {
  Handle h;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t from, to;
  int64_t m, n, count;
  TRY(made(&a, format, rows, columns, 0, offsets, nullptr, nullptr, 0, base, CUDA_R_32F));
  TRY(cusparseCreateDnMat(&from, rows, columns, columns, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  TRY(cusparseCreateDnMat(&to, rows, columns, rows, back, CUDA_R_32F, CUSPARSE_ORDER_COL));
  TRY(cusparseDenseToSparse_analysis(h.is, from, a, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
  TRY(cusparseSpMatGetSize(a, &m, &n, &count));
  if (count > most) return 100;
  TRY(cusparseCsrSetPointers(a, offsets, indices, values));
  TRY(cusparseDenseToSparse_convert(h.is, from, a, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, nullptr));
  TRY(cusparseSparseToDense(h.is, a, to, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr));
  TRY(cusparseDestroySpMat(a));
  TRY(cusparseDestroyDnMat(from));
  return cusparseDestroyDnMat(to);
}
static cusparseStatus_t by_rows(cusparseDnMatDescr_t *a, I rows, I columns, void *values, I type) {
  return cusparseCreateDnMat(a, rows, columns, columns, values, cudaDataType(type), CUSPARSE_ORDER_ROW);
}
EXPORT int batched_spmm(I batch, I rows, I columns, I count, void *offsets, void *indices, void *values, I shared,
                        float *b, I width, float *c) {
  Handle h;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t mb, mc;
  const float alpha = 1, beta = 0;
  TRY(made(&a, CUSPARSE_FORMAT_CSR, rows, columns, count, offsets, indices, values, 0, 0, CUDA_R_32F));
  if (!shared) TRY(cusparseCsrSetStridedBatch(a, int(batch), rows + 1, count));
  TRY(by_rows(&mb, columns, width, b, CUDA_R_32F));
  TRY(by_rows(&mc, rows, width, c, CUDA_R_32F));
  TRY(cusparseDnMatSetStridedBatch(mb, int(batch), columns * width));
  TRY(cusparseDnMatSetStridedBatch(mc, int(batch), rows * width));
  const cusparseOperation_t no = CUSPARSE_OPERATION_NON_TRANSPOSE;
  TRY(cusparseSpMM(h.is, no, no, &alpha, a, mb, &beta, mc, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
  TRY(cusparseDestroySpMat(a));
  TRY(cusparseDestroyDnMat(mb));
  return cusparseDestroyDnMat(mc);
}
EXPORT int sddmm(I a_op, I b_op, void *alpha, void *a, I a_rows, I a_columns, void *b, I b_rows, I b_columns, void *beta,
                 I rows, I columns, I count, void *offsets, void *indices, void *values, I type) {
  Handle h;
  cusparseSpMatDescr_t c;
  cusparseDnMatDescr_t ma, mb;
  const cudaDataType t = cudaDataType(type);
  TRY(made(&c, CUSPARSE_FORMAT_CSR, rows, columns, count, offsets, indices, values, 0, 0, type));
  TRY(by_rows(&ma, a_rows, a_columns, a, type));
  TRY(by_rows(&mb, b_rows, b_columns, b, type));
  TRY(cusparseSDDMM(h.is, cusparseOperation_t(a_op), cusparseOperation_t(b_op), alpha, ma, mb, beta, c, t,
                    CUSPARSE_SDDMM_ALG_DEFAULT, nullptr));
  TRY(cusparseDestroySpMat(c));
  TRY(cusparseDestroyDnMat(ma));
  return cusparseDestroyDnMat(mb);
}
/* A program's steps, with the memory that they ask for; `most` elements fit. */
EXPORT int spgemm(I rows, I inner, I columns, I a_count, void *a_offsets, void *a_indices, void *a_values, I b_count,
                  void *b_offsets, void *b_indices, void *b_values, void *alpha, I most, int *offsets, int *indices,
                  void *values, I type, int64_t *products) {
  Handle h;
  cusparseSpMatDescr_t a, b, c;
  cusparseSpGEMMDescr_t product;
  const cudaDataType t = cudaDataType(type);
  const double zeros[2] = {0, 0};
  int64_t m, n, count;
  size_t bytes = 0;
  void *first = nullptr, *second = nullptr;
  TRY(made(&a, CUSPARSE_FORMAT_CSR, rows, inner, a_count, a_offsets, a_indices, a_values, 0, 0, type));
  TRY(made(&b, CUSPARSE_FORMAT_CSR, inner, columns, b_count, b_offsets, b_indices, b_values, 0, 0, type));
  TRY(made(&c, CUSPARSE_FORMAT_CSR, rows, columns, 0, nullptr, nullptr, nullptr, 0, 0, type));
  TRY(cusparseSpGEMM_createDescr(&product));
#define OPERANDS                                                                                                         \
  h.is, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, b, zeros, c, t, CUSPARSE_SPGEMM_DEFAULT, \
      product
  if (cusparseSpGEMM_copy(OPERANDS) != CUSPARSE_STATUS_INVALID_VALUE) return 101;
  TRY(cusparseSpGEMM_workEstimation(OPERANDS, &bytes, nullptr));
  cudaMalloc(&first, bytes);
  TRY(cusparseSpGEMM_workEstimation(OPERANDS, &bytes, first));
  TRY(cusparseSpGEMM_compute(OPERANDS, &bytes, nullptr));
  cudaMalloc(&second, bytes);
  if (!first || !second) return 102;
  TRY(cusparseSpGEMM_compute(OPERANDS, &bytes, second));
  TRY(cusparseSpGEMM_getNumProducts(product, products));
  TRY(cusparseSpMatGetSize(c, &m, &n, &count));
  if (count != most) return 100;
  TRY(cusparseCsrSetPointers(c, offsets, indices, values));
  TRY(cusparseSpGEMM_copy(OPERANDS));
  cudaFree(first), cudaFree(second);
  TRY(cusparseSpGEMM_destroyDescr(product));
  TRY(cusparseDestroySpMat(a));
  TRY(cusparseDestroySpMat(b));
  return cusparseDestroySpMat(c);
}
EXPORT int triangular(I vector, I n, I count, void *offsets, void *indices, void *values, I type, I op, I upper, I unit,
                      void *alpha, void *b, I width, void *c) {
  Handle h;
  cusparseSpMatDescr_t a;
  const cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  const cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  const cudaDataType t = cudaDataType(type);
  const cusparseOperation_t o = cusparseOperation_t(op), no = CUSPARSE_OPERATION_NON_TRANSPOSE;
  TRY(made(&a, CUSPARSE_FORMAT_CSR, n, n, count, offsets, indices, values, 0, 0, type));
  TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
  if (vector) {
    cusparseDnVecDescr_t x, y;
    cusparseSpSVDescr_t solver;
    TRY(cusparseCreateDnVec(&x, n, b, t));
    TRY(cusparseCreateDnVec(&y, n, c, t));
    TRY(cusparseSpSV_createDescr(&solver));
    if (cusparseSpSV_solve(h.is, o, alpha, a, x, y, t, CUSPARSE_SPSV_ALG_DEFAULT, solver) !=
        CUSPARSE_STATUS_INVALID_VALUE)
      return 101;
    TRY(cusparseSpSV_analysis(h.is, o, alpha, a, x, y, t, CUSPARSE_SPSV_ALG_DEFAULT, solver, nullptr));
    TRY(cusparseSpSV_solve(h.is, o, alpha, a, x, y, t, CUSPARSE_SPSV_ALG_DEFAULT, solver));
    TRY(cusparseSpSV_destroyDescr(solver));
  } else {
    cusparseDnMatDescr_t mb, mc;
    cusparseSpSMDescr_t solver;
    TRY(by_rows(&mb, n, width, b, type));
    TRY(by_rows(&mc, n, width, c, type));
    TRY(cusparseSpSM_createDescr(&solver));
    TRY(cusparseSpSM_analysis(h.is, o, no, alpha, a, mb, mc, t, CUSPARSE_SPSM_ALG_DEFAULT, solver, nullptr));
    TRY(cusparseSpSM_solve(h.is, o, no, alpha, a, mb, mc, t, CUSPARSE_SPSM_ALG_DEFAULT, solver));
    TRY(cusparseSpSM_destroyDescr(solver));
  }
  return cusparseDestroySpMat(a);
}
EXPORT int ilu(I n, I count, int *offsets, int *columns, double *values, I base, int *pivot) {
  Handle h;
  cusparseMatDescr_t a;
  csrilu02Info_t info;
  int bytes;
  const cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  TRY(cusparseCreateMatDescr(&a));
  TRY(cusparseSetMatIndexBase(a, cusparseIndexBase_t(base)));
  TRY(cusparseCreateCsrilu02Info(&info));
  TRY(cusparseDcsrilu02_bufferSize(h.is, int(n), int(count), a, values, offsets, columns, info, &bytes));
  TRY(cusparseDcsrilu02_analysis(h.is, int(n), int(count), a, values, offsets, columns, info, policy, nullptr));
  TRY(cusparseDcsrilu02(h.is, int(n), int(count), a, values, offsets, columns, info, policy, nullptr));
  const cusparseStatus_t status = cusparseXcsrilu02_zeroPivot(h.is, info, pivot);
  TRY(cusparseDestroyCsrilu02Info(info));
  TRY(cusparseDestroyMatDescr(a));
  return status;
}
EXPORT int sparse_vector(I which, I size, I count, void *indices, void *x, I wide, I base, void *alpha, void *beta,
                         void *y, I type, void *result, I op) {
  Handle h;
  cusparseSpVecDescr_t vx;
  cusparseDnVecDescr_t vy;
  const cudaDataType t = cudaDataType(type);
  TRY(cusparseCreateSpVec(&vx, size, count, indices, x, wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I,
                          cusparseIndexBase_t(base), t));
  TRY(cusparseCreateDnVec(&vy, size, y, t));
  TRY(which == 0   ? cusparseAxpby(h.is, alpha, vx, beta, vy)
      : which == 1 ? cusparseGather(h.is, vy, vx)
      : which == 2 ? cusparseScatter(h.is, vx, vy)
                   : cusparseSpVV(h.is, cusparseOperation_t(op), vx, vy, result, t, nullptr));
  TRY(cusparseDestroySpVec(vx));
  return cusparseDestroyDnVec(vy);
}
EXPORT int turned(I m, I n, I count, float *values, int *offsets, int *columns, float *to_values, int *to_offsets,
                  int *rows, I numeric, I base) {
  Handle h;
  return cusparseCsr2cscEx2(h.is, int(m), int(n), int(count), values, offsets, columns, to_values, to_offsets, rows,
                            CUDA_R_32F, numeric ? CUSPARSE_ACTION_NUMERIC : CUSPARSE_ACTION_SYMBOLIC,
                            cusparseIndexBase_t(base), CUSPARSE_CSR2CSC_ALG1, nullptr);
}
EXPORT int sorted(I m, I n, I count, int *offsets, int *columns, int *order) {
  Handle h;
  cusparseMatDescr_t a;
  TRY(cusparseCreateMatDescr(&a));
  if (order) TRY(cusparseCreateIdentityPermutation(h.is, int(count), order));
  TRY(cusparseXcsrsort(h.is, int(m), int(n), int(count), a, offsets, columns, order, nullptr));
  return cusparseDestroyMatDescr(a);
}
EXPORT int nnz(I by_columns, I m, I n, double *values, int *each, int *all) {
  Handle h;
  return cusparseDnnz(h.is, by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW, int(m), int(n), nullptr,
                      values, int(m), each, all);
}
EXPORT int gone() {
  cusparseHandle_t h;
  cusparseCreate(&h), cusparseDestroy(h);
  return cusparseSetStream(h, 0);
}
