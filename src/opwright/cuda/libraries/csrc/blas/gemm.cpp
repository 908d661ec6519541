// Products of matrices, of batches and of mixed types.
#include <algorithm>

#include "elements.h"
#include "host_blas.h"

namespace opwright::emulation::blas {
namespace {

char letter(cublasOperation_t op) { return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C'; }
bool is_operation(cublasOperation_t op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

// One operand as an array of T: its own memory, or a copy.
template <class T> struct As {
  const T *data;
  Index ld;
  Dense<T> dense;

  explicit As(const View &view) : data(reinterpret_cast<const T *>(view.data)), ld(view.ld) {
    if (view.type == type_of<T>) return;
    load(view, &dense);
    data = dense.data.data(), ld = std::max<Index>(view.rows, 1);
  }
};

template <class T>
void multiply_views(cublasOperation_t ta, cublasOperation_t tb, Index k, T alpha, const View &a, const View &b, T beta,
                    const View &c) {
  const Index m = c.rows, n = c.columns;
  const As<T> left(a), right(b);
  const bool direct = c.type == type_of<T>;
  Dense<T> rounded;
  if (!direct && beta != T(0)) load(c, &rounded);
  else if (!direct) rounded = Dense<T>(m, n);
  T *into = direct ? reinterpret_cast<T *>(c.data) : rounded.data.data();
  multiply<T>(letter(ta), letter(tb), m, n, k, alpha, left.data, left.ld, right.data, right.ld, beta, into,
              direct ? c.ld : m);
  if (!direct) store(c, rounded);
}

// The type to compute in, which is that of alpha and beta too, but for halves.
bool compute_type(cublasComputeType_t compute, bool complex, cudaDataType *type, cudaDataType *scale) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: *type = CUDA_R_32F, *scale = CUDA_R_16F; return !complex;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9: *type = *scale = complex ? CUDA_C_32F : CUDA_R_32F; return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: *type = *scale = complex ? CUDA_C_64F : CUDA_R_64F; return true;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: *type = *scale = CUDA_R_32I; return !complex;
    default: return false;
  }
}

}  // namespace

cublasComputeType_t compute_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F: return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
    case CUDA_C_64F: return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I: return CUBLAS_COMPUTE_32I;
    default: return CUBLAS_COMPUTE_32F;
  }
}

cublasStatus_t gemm(const Call &call, cublasOperation_t ta, cublasOperation_t tb, const Shape &shape, Scalar alpha,
                    const Operand &a, const Operand &b, Scalar beta, const Operand &c, cublasComputeType_t compute) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto [m, n, k, batch] = shape;
  const Index a_rows = ta == CUBLAS_OP_N ? m : k, b_rows = tb == CUBLAS_OP_N ? k : n;
  if (!is_operation(ta) || !is_operation(tb) || m < 0 || n < 0 || k < 0 || batch < 0 || !alpha || !beta ||
      a.ld < std::max<Index>(1, a_rows) || b.ld < std::max<Index>(1, b_rows) || c.ld < std::max<Index>(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  cudaDataType type, scale;
  if (!known(run, {a.type, b.type, c.type})) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!compute_type(compute, type_is_complex(a.type), &type, &scale) ||
      type_is_complex(a.type) != type_is_complex(c.type)) {
    refuse_call(run.called, "cuBLAS has no such combination of element types and compute type");
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return computed(run, type, [&](auto kind) {
    using T = decltype(kind);
    T by{}, keep{};
    if (!scalar(run, alpha, scale, "alpha", &by) || !scalar(run, beta, scale, "beta", &keep))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    const Index depth = by == T(0) ? 0 : k;  // A and B aren't read then
    for (Index at = 0; at < batch && m && n; ++at) {
      const View left{matrix_of(run, a, at, "the array of As"), a.type, a_rows, ta == CUBLAS_OP_N ? depth : m, a.ld};
      const View right{matrix_of(run, b, at, "the array of Bs"), b.type, b_rows, tb == CUBLAS_OP_N ? n : depth, b.ld};
      const View into{matrix_of(run, c, at, "the array of Cs"), c.type, m, n, c.ld};
      if (depth && (!left.touched(run.called, "A", false) || !right.touched(run.called, "B", false)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
      if ((keep != T(0) && !into.touched(run.called, "C", false)) || !into.touched(run.called, "C", true))
        return CUBLAS_STATUS_EXECUTION_FAILED;
      const View none{nullptr, type, 0, 0, 1};
      multiply_views<T>(ta, tb, depth, by, depth ? left : none, depth ? right : none, keep, into);
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace opwright::emulation::blas
