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
EXPORT int gone() {
  cusparseHandle_t h;
  cusparseCreate(&h), cusparseDestroy(h);
  return cusparseSetStream(h, 0);
}
