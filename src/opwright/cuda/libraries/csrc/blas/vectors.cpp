// Vectors: sums are made in order, in the type that is computed in.
#include <cmath>

#include "elements.h"

namespace opwright::emulation::blas {

cublasStatus_t axpy(const Call &call, Index n, Scalar alpha, const Operand &x, const Operand &y, cudaDataType compute) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !known(run, {x.type, y.type})) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    Vector<T> from(x, n), into(y, n);
    if (!scalar(run, alpha, compute, "alpha", &by) || !from.read(run, "x") || !into.read(run, "y") ||
        !into.may_write(run, "y"))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index i = 0; i < n; ++i) into[i] += by * from[i];
    into.write();
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t dot(const Call &call, Index n, const Operand &x, const Operand &y, bool conjugate, void *result,
                   cudaDataType result_type, cudaDataType compute) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result || !known(run, {x.type, y.type, result_type})) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T sum(0);
    Vector<T> a(x, n > 0 ? n : 0), b(y, n > 0 ? n : 0);
    if (!a.read(run, "x") || !b.read(run, "y")) return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index i = 0; i < n; ++i) sum += (conjugate ? conjugated(a[i]) : a[i]) * b[i];
    return give(run, result, result_type, sum) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

cublasStatus_t scal(const Call &call, Index n, Scalar alpha, cudaDataType alpha_type, const Operand &x,
                    cudaDataType compute) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0 || x.ld <= 0) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !known(run, {alpha_type, x.type})) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    Vector<T> into(x, n);
    if (!scalar(run, alpha, alpha_type, "alpha", &by) || !into.read(run, "x") || !into.may_write(run, "x"))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index i = 0; i < n; ++i) into[i] *= by;
    into.write();
    return CUBLAS_STATUS_SUCCESS;
  });
}

namespace {

template <class T> double size_1(T value) {
  if constexpr (is_complex<T>) return std::fabs(double(value.real())) + std::fabs(double(value.imag()));
  else return std::fabs(double(value));
}
// A vector's length without overflow: LAPACK's way.
template <class T> void add_square(T value, double *scale, double *sum) {
  const double size = std::fabs(double(value));
  if (size == 0) return;
  if (*scale < size) *sum = 1 + *sum * (*scale / size) * (*scale / size), *scale = size;
  else *sum += std::isinf(size) ? 0 : (size / *scale) * (size / *scale);
}

}  // namespace

cublasStatus_t norm(const Call &call, Norm which, Index n, const Operand &x, void *result, cudaDataType result_type,
                    cudaDataType compute) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result || !known(run, {x.type, result_type})) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, compute, [&](auto kind) {
    using T = decltype(kind);
    const Index count = x.ld > 0 && n > 0 ? n : 0;
    Vector<T> a(x, count);
    if (!a.read(run, "x")) return CUBLAS_STATUS_EXECUTION_FAILED;
    double sum = which == Norm::two ? 1 : 0, scale = 0;
    bool nan = false;
    for (Index i = 0; i < count; ++i) {
      nan = nan || a[i] != a[i];
      if (which == Norm::one) sum += size_1(a[i]);
      else if constexpr (is_complex<T>) add_square(a[i].real(), &scale, &sum), add_square(a[i].imag(), &scale, &sum);
      else add_square(a[i], &scale, &sum);
    }
    const double value = nan ? std::nan("") : which == Norm::one ? sum : scale * std::sqrt(sum);
    return give(run, result, result_type, value) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

cublasStatus_t extreme(const Call &call, bool largest, Index n, const Operand &x, void *result, bool wide) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, x.type, [&](auto kind) {
    using T = decltype(kind);
    const Index count = x.ld > 0 && n > 0 ? n : 0;
    Vector<T> a(x, count);
    if (!a.read(run, "x")) return CUBLAS_STATUS_EXECUTION_FAILED;
    int64_t best = count ? 1 : 0;
    for (Index i = 1; i < count; ++i) {
      const double here = size_1(a[i]), there = size_1(a[best - 1]);
      if (largest ? here > there : here < there) best = i + 1;
    }
    const size_t bytes = wide ? sizeof(int64_t) : sizeof(int32_t);
    if (run.device_scalars && !may_touch(result, bytes, bytes, 1, true, "result", run.called))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    const int32_t narrow = int32_t(best);
    std::memcpy(result, wide ? static_cast<const void *>(&best) : &narrow, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t copy(const Call &call, Index n, const Operand &x, const Operand &y, bool swap) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return computed(run, x.type, [&](auto kind) {
    using T = decltype(kind);
    Vector<T> from(x, n), into(y, n);
    if (!from.read(run, "x") || (swap && !into.read(run, "y")) || !into.may_write(run, "y") ||
        (swap && !from.may_write(run, "x")))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    std::swap(from.dense, into.dense);
    into.write();
    if (swap) from.write();
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t rot(const Call &call, Index n, const Operand &x, const Operand &y, Scalar c, Scalar s) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return computed(run, x.type, [&](auto kind) {
    using T = decltype(kind);
    T cosine{}, sine{};
    Vector<T> a(x, n), b(y, n);
    if (!scalar(run, c, x.type, "c", &cosine) || !scalar(run, s, x.type, "s", &sine) || !a.read(run, "x") ||
        !b.read(run, "y") || !a.may_write(run, "x") || !b.may_write(run, "y"))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index i = 0; i < n; ++i) {
      const T first = a[i], second = b[i];
      a[i] = cosine * first + sine * second;
      b[i] = cosine * second - sine * first;
    }
    a.write(), b.write();
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace opwright::emulation::blas
