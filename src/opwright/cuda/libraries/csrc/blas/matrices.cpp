// Matrices with vectors, sums of matrices, triangles.
#include <algorithm>

#include "elements.h"
#include "host_blas.h"

namespace opwright::emulation::blas {
namespace {

// op(A), dense.
template <class T> Dense<T> turned(const Dense<T> &a, cublasOperation_t op) {
  if (op == CUBLAS_OP_N) return a;
  Dense<T> into(a.columns, a.rows);
  for (Index j = 0; j < a.columns; ++j)
    for (Index i = 0; i < a.rows; ++i) into(j, i) = op == CUBLAS_OP_C ? conjugated(a(i, j)) : a(i, j);
  return into;
}

template <class T> bool read(const Running &run, const View &view, const char *name, Dense<T> *into) {
  if (!view.touched(run.called, name, false)) return false;
  load(view, into);
  return true;
}

// y = alpha A x + beta y, with A as it stands.
template <class T>
cublasStatus_t times(const Running &run, const Dense<T> &a, T alpha, const Operand &x, Scalar beta, const Operand &y) {
  T keep{};
  Vector<T> from(x, a.columns), into(y, a.rows);
  if (!scalar(run, beta, y.type, "beta", &keep) || !from.read(run, "x")) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (keep != T(0) && !into.read(run, "y")) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!into.may_write(run, "y")) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (keep == T(0)) into.empty();
  Dense<T> sum(1, a.rows);
  for (Index j = 0; j < a.columns; ++j)
    for (Index i = 0; i < a.rows; ++i) sum.data[size_t(i)] += a(i, j) * from[j];
  for (Index i = 0; i < a.rows; ++i) into[i] = alpha * sum.data[size_t(i)] + (keep == T(0) ? T(0) : keep * into[i]);
  into.write();
  return CUBLAS_STATUS_SUCCESS;
}

constexpr bool is_step(Index step) { return step != 0; }

}  // namespace

cublasStatus_t gemv(const Call &call, cublasOperation_t t, Index m, Index n, Scalar alpha, const Operand &a,
                    const Operand &x, Scalar beta, const Operand &y) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || a.ld < std::max<Index>(1, m) || !is_step(x.ld) || !is_step(y.ld) || !alpha || !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!m || !n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, a.type, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    Dense<T> matrix;
    if (!scalar(run, alpha, a.type, "alpha", &by) || !read(run, view_of(a, m, n), "A", &matrix))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    return times(run, turned(matrix, t), by, x, beta, y);
  });
}

cublasStatus_t symv(const Call &call, cublasFillMode_t fill, Index n, Scalar alpha, const Operand &a, const Operand &x,
                    Scalar beta, const Operand &y) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || a.ld < std::max<Index>(1, n) || !is_step(x.ld) || !is_step(y.ld) || !alpha || !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, a.type, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    Dense<T> matrix;
    if (!scalar(run, alpha, a.type, "alpha", &by) || !read(run, view_of(a, n, n), "A", &matrix))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < j; ++i)
        if (fill == CUBLAS_FILL_MODE_LOWER) matrix(i, j) = matrix(j, i);
        else matrix(j, i) = matrix(i, j);
    return times(run, matrix, by, x, beta, y);
  });
}

cublasStatus_t ger(const Call &call, Index m, Index n, Scalar alpha, const Operand &x, const Operand &y, bool conjugate,
                   const Operand &a) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || a.ld < std::max<Index>(1, m) || !is_step(x.ld) || !is_step(y.ld) || !alpha)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!m || !n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, a.type, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    Dense<T> matrix;
    Vector<T> left(x, m), right(y, n);
    const View view = view_of(a, m, n);
    if (!scalar(run, alpha, a.type, "alpha", &by) || !left.read(run, "x") || !right.read(run, "y") ||
        !read(run, view, "A", &matrix) || !view.touched(run.called, "A", true))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) matrix(i, j) += by * left[i] * (conjugate ? conjugated(right[j]) : right[j]);
    store(view, matrix);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t geam(const Call &call, cublasOperation_t ta, cublasOperation_t tb, Index m, Index n, Scalar alpha,
                    const Operand &a, Scalar beta, const Operand &b, const Operand &c) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool a_stands = ta == CUBLAS_OP_N, b_stands = tb == CUBLAS_OP_N;
  if (m < 0 || n < 0 || a.ld < std::max<Index>(1, a_stands ? m : n) || b.ld < std::max<Index>(1, b_stands ? m : n) ||
      c.ld < std::max<Index>(1, m) || !alpha || !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!m || !n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, c.type, [&](auto kind) {
    using T = decltype(kind);
    T by{}, also{};
    Dense<T> first(m, n), second(m, n);
    if (!scalar(run, alpha, c.type, "alpha", &by) || !scalar(run, beta, c.type, "beta", &also))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    const View left = view_of(a, a_stands ? m : n, a_stands ? n : m);
    const View right = view_of(b, b_stands ? m : n, b_stands ? n : m);
    if (by != T(0)) {
      if (!read(run, left, "A", &first)) return CUBLAS_STATUS_EXECUTION_FAILED;
      first = turned(first, ta);
    }
    if (also != T(0)) {
      if (!read(run, right, "B", &second)) return CUBLAS_STATUS_EXECUTION_FAILED;
      second = turned(second, tb);
    }
    const View into = view_of(c, m, n);
    if (!into.touched(run.called, "C", true)) return CUBLAS_STATUS_EXECUTION_FAILED;
    for (size_t i = 0; i < first.data.size(); ++i) first.data[i] = by * first.data[i] + also * second.data[i];
    store(into, first);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t dgmm(const Call &call, cublasSideMode_t side, Index m, Index n, const Operand &a, const Operand &x,
                    const Operand &c) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || a.ld < std::max<Index>(1, m) || c.ld < std::max<Index>(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!m || !n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, c.type, [&](auto kind) {
    using T = decltype(kind);
    Dense<T> matrix;
    Vector<T> diagonal(x, side == CUBLAS_SIDE_LEFT ? m : n);
    const View into = view_of(c, m, n);
    if (!read(run, view_of(a, m, n), "A", &matrix) || !diagonal.read(run, "x") || !into.touched(run.called, "C", true))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) matrix(i, j) *= diagonal[side == CUBLAS_SIDE_LEFT ? i : j];
    store(into, matrix);
    return CUBLAS_STATUS_SUCCESS;
  });
}

namespace {

// Solves L X = B or U X = B in place; `upper` says which of the two `a` is, of which only that triangle counts.
template <class T> void solve(const Dense<T> &a, bool upper, bool unit, Dense<T> *b) {
  const Index n = a.rows;
  for (Index column = 0; column < b->columns; ++column)
    for (Index step = 0; step < n; ++step) {
      const Index i = upper ? n - 1 - step : step;
      T value = (*b)(i, column);
      for (Index j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) value -= a(i, j) * (*b)(j, column);
      (*b)(i, column) = unit ? value : value / a(i, i);
    }
}

}  // namespace

cublasStatus_t trsm(const Call &call, const Triangle &triangle, Index m, Index n, Scalar alpha, const Operand &a,
                    const Operand &b, Index batch) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool left = triangle.side == CUBLAS_SIDE_LEFT;
  const Index order = left ? m : n;
  if (m < 0 || n < 0 || batch < 0 || a.ld < std::max<Index>(1, order) || b.ld < std::max<Index>(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!m || !n) return CUBLAS_STATUS_SUCCESS;
  return computed(run, b.type, [&](auto kind) {
    using T = decltype(kind);
    T by(1);
    if (alpha && !scalar(run, alpha, b.type, "alpha", &by)) return CUBLAS_STATUS_EXECUTION_FAILED;
    for (Index at = 0; at < batch; ++at) {
      const View matrix{matrix_of(run, a, at, "the array of As"), a.type, order, order, a.ld};
      const View into{matrix_of(run, b, at, "the array of Bs"), b.type, m, n, b.ld};
      Dense<T> given, right;
      // Only one triangle is read: the other may be anything, also unwritten.
      for (Index j = 0; j < order; ++j) {
        const bool upper = triangle.fill == CUBLAS_FILL_MODE_UPPER;
        const Index first = upper ? 0 : j, count = upper ? j + 1 : order - j;
        const View part{matrix.data + (first + j * a.ld) * Index(size_of(a.type)), a.type, count, 1, a.ld};
        if (!part.touched(run.called, "A", false)) return CUBLAS_STATUS_EXECUTION_FAILED;
      }
      load(matrix, &given);
      if (!read(run, into, "B", &right) || !into.touched(run.called, "B", true)) return CUBLAS_STATUS_EXECUTION_FAILED;
      for (T &each : right.data) each *= by;
      // X op(A) = B is op(A)' X' = B'.
      Dense<T> turned_a = turned(given, triangle.op);
      bool upper = (triangle.fill == CUBLAS_FILL_MODE_UPPER) == (triangle.op == CUBLAS_OP_N);
      if (!left) turned_a = turned(turned_a, CUBLAS_OP_T), right = turned(right, CUBLAS_OP_T), upper = !upper;
      solve(turned_a, upper, triangle.diagonal == CUBLAS_DIAG_UNIT, &right);
      store(into, left ? right : turned(right, CUBLAS_OP_T));
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t syrk(const Call &call, cublasFillMode_t fill, cublasOperation_t t, Index n, Index k, Scalar alpha,
                    const Operand &a, Scalar beta, const Operand &c, bool hermitian) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool stands = t == CUBLAS_OP_N;
  if (n < 0 || k < 0 || a.ld < std::max<Index>(1, stands ? n : k) || c.ld < std::max<Index>(1, n) || !alpha || !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!n) return CUBLAS_STATUS_SUCCESS;
  const cudaDataType scale = !hermitian ? c.type : c.type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F;
  return computed(run, c.type, [&](auto kind) {
    using T = decltype(kind);
    T by{}, keep{};
    Dense<T> matrix, sum(n, n), into;
    const View view = view_of(c, n, n);
    if (!scalar(run, alpha, scale, "alpha", &by) || !scalar(run, beta, scale, "beta", &keep) ||
        !read(run, view_of(a, stands ? n : k, stands ? k : n), "A", &matrix))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    const char other = hermitian ? 'C' : 'T';
    multiply<T>(stands ? 'N' : other, stands ? other : 'N', n, n, k, by, matrix.data.data(), matrix.rows,
                matrix.data.data(), matrix.rows, T(0), sum.data.data(), n);
    for (Index j = 0; j < n; ++j) {
      const bool upper = fill == CUBLAS_FILL_MODE_UPPER;
      const Index first = upper ? 0 : j, count = upper ? j + 1 : n - j;
      const View part{view.data + (first + j * c.ld) * Index(size_of(c.type)), c.type, count, 1, c.ld};
      if ((keep != T(0) && !part.touched(run.called, "C", false)) || !part.touched(run.called, "C", true))
        return CUBLAS_STATUS_EXECUTION_FAILED;
      load(part, &into);
      for (Index i = 0; i < count; ++i) into(i, 0) = sum(first + i, j) + (keep == T(0) ? T(0) : keep * into(i, 0));
      store(part, into);
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace opwright::emulation::blas
