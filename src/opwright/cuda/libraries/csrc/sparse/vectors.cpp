// cuSPARSE: sparse vectors.
#include "matrices.h"

namespace opwright::emulation::sparse {
namespace {

// f(indices, x, y) for the two vectors, in the type of `compute`; x or y is stored afterwards, or neither.
enum class Stores { x, y, nothing };
template <class F> cusparseStatus_t with_vectors(const Call &call, const cusparseSpVecDescr *x,
                                                 const cusparseDnVecDescr *y, cudaDataType compute, Stores stores,
                                                 bool reads_x, F f) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!x || !y || x->size != y->size || !blas::known(run, {x->type, y->type})) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, compute, [&](auto kind) {
    using T = decltype(kind);
    const View thin{static_cast<char *>(x->values), x->type, 1, x->count, 1},
        full{static_cast<char *>(y->values), y->type, 1, y->size, 1};
    if (!touched(run, x->indices, x->count, bytes_of(x->index_type), false, "the indices") ||
        (reads_x && !thin.touched(run.called, "x", false)) || !full.touched(run.called, "y", false) ||
        (stores == Stores::x && !thin.touched(run.called, "x", true)) ||
        (stores == Stores::y && !full.touched(run.called, "y", true)))
      return false;
    std::vector<size_t> indices;
    for (Index i = 0; i < x->count; ++i) {
      const Index at = index_at(x->indices, x->index_type, i) - x->base;
      if (at < 0 || at >= x->size) return outside(run, "index", at);
      indices.push_back(size_t(at));
    }
    Dense<T> a(1, x->count), b;
    if (reads_x) blas::load(thin, &a);
    blas::load(full, &b);
    if (!f(run, indices, a.data, b.data)) return false;
    if (stores == Stores::x) blas::store(thin, a);
    if (stores == Stores::y) blas::store(full, b);
    return true;
  });
}

}  // namespace

cusparseStatus_t add(const Call &call, const void *alpha, const cusparseSpVecDescr *x, const void *beta,
                     const cusparseDnVecDescr *y) {
  const cudaDataType compute = y && (y->type == CUDA_R_16F || y->type == CUDA_R_16BF) ? CUDA_R_32F
                               : y                                                    ? y->type
                                                                                      : CUDA_R_32F;
  return with_vectors(call, x, y, compute, Stores::y, true, [&](const Running &run, auto &indices, auto &a, auto &b) {
    typename std::decay_t<decltype(a)>::value_type by{}, keep{};
    if (!blas::scalar(run, alpha, compute, "alpha", &by) || !blas::scalar(run, beta, compute, "beta", &keep))
      return false;
    for (auto &each : b) each *= keep;
    for (size_t i = 0; i < indices.size(); ++i) b[indices[i]] += by * a[i];
    return true;
  });
}

cusparseStatus_t gather(const Call &call, const cusparseDnVecDescr *y, const cusparseSpVecDescr *x) {
  return with_vectors(call, x, y, y ? y->type : CUDA_R_32F, Stores::x, false,
                      [](const Running &, auto &indices, auto &a, auto &b) {
                        for (size_t i = 0; i < indices.size(); ++i) a[i] = b[indices[i]];
                        return true;
                      });
}

cusparseStatus_t scatter(const Call &call, const cusparseSpVecDescr *x, const cusparseDnVecDescr *y) {
  return with_vectors(call, x, y, y ? y->type : CUDA_R_32F, Stores::y, true,
                      [](const Running &, auto &indices, auto &a, auto &b) {
                        for (size_t i = 0; i < indices.size(); ++i) b[indices[i]] = a[i];
                        return true;
                      });
}

cusparseStatus_t dot(const Call &call, cusparseOperation_t op, const cusparseSpVecDescr *x, const cusparseDnVecDescr *y,
                     void *result, cudaDataType compute) {
  return with_vectors(call, x, y, compute, Stores::nothing, true,
                      [&](const Running &run, auto &indices, auto &a, auto &b) {
                        typename std::decay_t<decltype(a)>::value_type sum{};
                        for (size_t i = 0; i < indices.size(); ++i) sum += taken(op, a[i]) * b[indices[i]];
                        return blas::give(run, result, compute, sum);
                      });
}

}  // namespace opwright::emulation::sparse
