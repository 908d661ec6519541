#include <cublasLt.h>
typedef int64_t I;
#define TRY(call) do { const cublasStatus_t status = (call); if (status) return status; } while (0)
#define SET(which, value) TRY(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_##which, &value, sizeof value))

/* D = epilogue(alpha op(A) op(B) + beta C); rows of each are stored one after the other if `order` is 1. */
EXPORT int product(I ta, I tb, I m, I n, I k, I type, I order, I batch, float *alpha, void *a, void *b, float *beta,
                   void *c, void *d, I epilogue_number, void *bias, void *aux) {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t what;
  cublasLtMatmulPreference_t preference;
  cublasLtMatrixLayout_t layouts[3];
  cublasLtMatmulHeuristicResult_t found;
  int results = 0;
  size_t workspace = 1 << 20;
  const cublasOperation_t a_op = ta ? CUBLAS_OP_T : CUBLAS_OP_N, b_op = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = cublasLtEpilogue_t(epilogue_number);
  const I sizes[3][2] = {{ta ? k : m, ta ? m : k}, {tb ? n : k, tb ? k : n}, {m, n}};
  TRY(cublasLtCreate(&handle));
  TRY(cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  SET(TRANSA, a_op);
  SET(TRANSB, b_op);
  SET(EPILOGUE, epilogue);
  SET(BIAS_POINTER, bias);
  SET(EPILOGUE_AUX_POINTER, aux);
  SET(EPILOGUE_AUX_LD, m);
  for (int i = 0; i < 3; ++i) {
    const I rows = sizes[i][0], columns = sizes[i][1], stride = rows * columns;
    const int32_t count = int32_t(batch), by = int32_t(order);
    TRY(cublasLtMatrixLayoutCreate(layouts + i, cudaDataType(type), rows, columns, order ? columns : rows));
    TRY(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_ORDER, &by, sizeof by));
    TRY(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    TRY(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  }
  TRY(cublasLtMatmulPreferenceCreate(&preference));
  TRY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                           sizeof workspace));
  TRY(cublasLtMatmulAlgoGetHeuristic(handle, what, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1, &found,
                                     &results));
  if (results != 1) return 100;
  TRY(cublasLtMatmul(handle, what, alpha, a, layouts[0], b, layouts[1], beta, c, layouts[2], d, layouts[2], &found.algo,
                     nullptr, 0, 0));
  for (cublasLtMatrixLayout_t each : layouts) TRY(cublasLtMatrixLayoutDestroy(each));
  TRY(cublasLtMatmulPreferenceDestroy(preference));
  TRY(cublasLtMatmulDescDestroy(what));
  return cublasLtDestroy(handle);
}
