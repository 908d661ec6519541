// Batches of small systems: LU with partial pivoting (LAPACK's getf2), least squares by Householder's reflections (geqr2).
#include <algorithm>
#include <cmath>

#include "elements.h"

namespace opwright::emulation::blas {
namespace {

template <class T> Part<T> size_1(T value) {
  if constexpr (is_complex<T>) return std::fabs(value.real()) + std::fabs(value.imag());
  else return std::fabs(value);
}

// Factors in place; returns 0, or the place, counted from 1, of the first pivot that is zero.
template <class T> int factor(Dense<T> *a, int *pivots) {
  const Index n = a->rows;
  int zero = 0;
  for (Index k = 0; k < n; ++k) {
    Index best = k;
    for (Index i = k + 1; pivots && i < n; ++i)
      if (size_1((*a)(i, k)) > size_1((*a)(best, k))) best = i;
    if (pivots) pivots[k] = int(best + 1);
    if ((*a)(best, k) == T(0)) {
      zero = zero ? zero : int(k + 1);
      continue;
    }
    for (Index j = 0; best != k && j < n; ++j) std::swap((*a)(k, j), (*a)(best, j));
    for (Index i = k + 1; i < n; ++i) (*a)(i, k) /= (*a)(k, k);
    for (Index j = k + 1; j < n; ++j)
      for (Index i = k + 1; i < n; ++i) (*a)(i, j) -= (*a)(i, k) * (*a)(k, j);
  }
  return zero;
}

template <class T> void exchange_rows(Dense<T> *b, const int *pivots, Index n, bool back) {
  for (Index step = 0; pivots && step < n; ++step) {
    const Index i = back ? n - 1 - step : step, other = pivots[i] - 1;
    for (Index j = 0; other != i && j < b->columns; ++j) std::swap((*b)(i, j), (*b)(other, j));
  }
}

// Solves with the factors of A, or of its transpose.
template <class T> void solve(const Dense<T> &lu, const int *pivots, cublasOperation_t op, Dense<T> *b) {
  const Index n = lu.rows;
  const auto at = [&](Index i, Index j) { return op == CUBLAS_OP_C ? conjugated(lu(j, i)) : lu(j, i); };
  if (op == CUBLAS_OP_N) exchange_rows(b, pivots, n, false);
  for (Index column = 0; column < b->columns; ++column) {
    T *x = &(*b)(0, column);
    if (op == CUBLAS_OP_N) {
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < i; ++j) x[i] -= lu(i, j) * x[j];
      for (Index i = n; i-- > 0; x[i] /= lu(i, i))
        for (Index j = i + 1; j < n; ++j) x[i] -= lu(i, j) * x[j];
    } else {
      for (Index i = 0; i < n; x[i] /= at(i, i), ++i)
        for (Index j = 0; j < i; ++j) x[i] -= at(i, j) * x[j];
      for (Index i = n; i-- > 0;)
        for (Index j = i + 1; j < n; ++j) x[i] -= at(i, j) * x[j];
    }
  }
  if (op != CUBLAS_OP_N) exchange_rows(b, pivots, n, true);
}

template <class T> Dense<T> identity(Index n) {
  Dense<T> one(n, n);
  for (Index i = 0; i < n; ++i) one(i, i) = T(1);
  return one;
}

template <class T> int first_zero(const Dense<T> &lu) {
  for (Index i = 0; i < lu.rows; ++i)
    if (lu(i, i) == T(0)) return int(i + 1);
  return 0;
}

bool integers(const Running &run, const int *at, Index count, bool writes, const char *name) {
  const size_t bytes = size_t(count) * sizeof(int);
  return may_touch(at, bytes, bytes, 1, writes, name, run.called);
}
bool are_pivots(const int *pivots, Index n) {
  return std::all_of(pivots, pivots + n, [n](int each) { return each >= 1 && each <= n; });
}

template <class T> bool read(const Running &run, const View &view, const char *name, Dense<T> *into) {
  if (!view.touched(run.called, name, false)) return false;
  load(view, into);
  return true;
}

// The function does one matrix of the batch and returns whether its memory is there.
template <class F> cublasStatus_t each(const Call &call, cudaDataType type, bool sane, Index batch, F f) {
  Running run;
  if (!running(call, &run)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!sane || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  return computed(run, type, [&](auto kind) {
    if constexpr (std::is_integral_v<decltype(kind)>) return CUBLAS_STATUS_NOT_SUPPORTED;
    else
      for (Index at = 0; at < batch; ++at)
        if (!f(run, kind, at)) return CUBLAS_STATUS_EXECUTION_FAILED;
    return CUBLAS_STATUS_SUCCESS;
  });
}

View square(const Running &run, const Operand &a, Index at, Index n, const char *name) {
  return {matrix_of(run, a, at, name), a.type, n, n, a.ld};
}

}  // namespace

cublasStatus_t getrf(const Call &call, Index n, const Operand &a, int *pivots, int *info, Index batch) {
  return each(call, a.type, n >= 0 && a.ld >= std::max<Index>(1, n) && info, batch,
              [&](const Running &run, auto kind, Index at) {
                Dense<decltype(kind)> matrix;
                const View view = square(run, a, at, n, "the array of As");
                if (!read(run, view, "A", &matrix) || !view.touched(run.called, "A", true) ||
                    (pivots && !integers(run, pivots + at * n, n, true, "the pivots")) ||
                    !integers(run, info + at, 1, true, "info"))
                  return false;
                info[at] = factor(&matrix, pivots ? pivots + at * n : nullptr);
                store(view, matrix);
                return true;
              });
}

cublasStatus_t getri(const Call &call, Index n, const Operand &a, const int *pivots, const Operand &c, int *info,
                     Index batch) {
  return each(
      call, a.type, n >= 0 && a.ld >= std::max<Index>(1, n) && c.ld >= std::max<Index>(1, n) && info, batch,
      [&](const Running &run, auto kind, Index at) {
        using T = decltype(kind);
        Dense<T> lu, into = identity<T>(n);
        const View view = square(run, c, at, n, "the array of Cs");
        if (!read(run, square(run, a, at, n, "the array of As"), "A", &lu) || !view.touched(run.called, "C", true) ||
            !integers(run, info + at, 1, true, "info") ||
            (pivots && !(integers(run, pivots + at * n, n, false, "the pivots") && are_pivots(pivots + at * n, n))))
          return false;
        info[at] = first_zero(lu);
        if (info[at]) return true;
        solve(lu, pivots ? pivots + at * n : nullptr, CUBLAS_OP_N, &into);
        store(view, into);
        return true;
      });
}

cublasStatus_t getrs(const Call &call, cublasOperation_t t, Index n, Index columns, const Operand &a, const int *pivots,
                     const Operand &b, int *info, Index batch) {
  const bool sane = n >= 0 && columns >= 0 && a.ld >= std::max<Index>(1, n) && b.ld >= std::max<Index>(1, n) && info;
  if (info) *info = sane ? 0 : -1; /* on the host */
  return each(call, a.type, sane, batch, [&](const Running &run, auto kind, Index at) {
    Dense<decltype(kind)> lu, right;
    const View view{matrix_of(run, b, at, "the array of Bs"), b.type, n, columns, b.ld};
    if (!read(run, square(run, a, at, n, "the array of As"), "A", &lu) || !read(run, view, "B", &right) ||
        !view.touched(run.called, "B", true) ||
        (pivots && !(integers(run, pivots + at * n, n, false, "the pivots") && are_pivots(pivots + at * n, n))))
      return false;
    solve(lu, pivots ? pivots + at * n : nullptr, t, &right);
    store(view, right);
    return true;
  });
}

cublasStatus_t matinv(const Call &call, Index n, const Operand &a, const Operand &inverse, int *info, Index batch) {
  constexpr Index largest = 32; /* as cuBLAS says */
  const bool sane =
      n >= 0 && n <= largest && a.ld >= std::max<Index>(1, n) && inverse.ld >= std::max<Index>(1, n) && info;
  return each(call, a.type, sane, batch, [&](const Running &run, auto kind, Index at) {
    using T = decltype(kind);
    Dense<T> lu, into = identity<T>(n);
    const View view = square(run, inverse, at, n, "the array of inverses");
    if (!read(run, square(run, a, at, n, "the array of As"), "A", &lu) ||
        !view.touched(run.called, "the inverse", true) || !integers(run, info + at, 1, true, "info"))
      return false;
    int pivots[largest];
    info[at] = factor(&lu, pivots);
    if (info[at]) return true;
    solve(lu, pivots, CUBLAS_OP_N, &into);
    store(view, into);
    return true;
  });
}

namespace {

// One reflection that makes column k zero below the diagonal, applied to what is right of it and to C.
template <class T> void reflect(Dense<T> *a, Index k, Dense<T> *c) {
  Part<T> length = 0;
  for (Index i = k; i < a->rows; ++i) length = std::hypot(length, Part<T>(std::abs((*a)(i, k))));
  if (length == 0) return;
  const T head = (*a)(k, k);
  const Part<T> size = std::abs(head);
  const T turned = size == 0 ? T(-length) : -head / size * length;
  std::vector<T> v;
  for (Index i = k; i < a->rows; ++i) v.push_back((*a)(i, k));
  v[0] -= turned;
  Part<T> square = 0;
  for (const T &each : v) square += std::norm(each);
  const auto apply = [&](Dense<T> *to, Index column) {
    T sum(0);
    for (size_t i = 0; i < v.size(); ++i) sum += conjugated(v[i]) * (*to)(k + Index(i), column);
    sum *= Part<T>(2) / square;
    for (size_t i = 0; i < v.size(); ++i) (*to)(k + Index(i), column) -= v[i] * sum;
  };
  for (Index j = k + 1; j < a->columns; ++j) apply(a, j);
  for (Index j = 0; j < c->columns; ++j) apply(c, j);
  (*a)(k, k) = turned;
  for (Index i = k + 1; i < a->rows; ++i) (*a)(i, k) = v[size_t(i - k)] / v[0];
}

}  // namespace

cublasStatus_t gels(const Call &call, cublasOperation_t t, Index m, Index n, Index columns, const Operand &a,
                    const Operand &c, int *info, int *singular, Index batch) {
  const bool sane =
      n >= 0 && m >= n && columns >= 0 && a.ld >= std::max<Index>(1, m) && c.ld >= std::max<Index>(1, m) && info;
  if (info) *info = sane ? 0 : -1;                                  /* on the host */
  if (sane && t != CUBLAS_OP_N) return CUBLAS_STATUS_NOT_SUPPORTED; /* as cuBLAS says */
  return each(call, a.type, sane, batch, [&](const Running &run, auto kind, Index at) {
    Dense<decltype(kind)> matrix, right;
    const View of{matrix_of(run, a, at, "the array of As"), a.type, m, n, a.ld};
    const View into{matrix_of(run, c, at, "the array of Cs"), c.type, m, columns, c.ld};
    if (!read(run, of, "A", &matrix) || !read(run, into, "C", &right) || !of.touched(run.called, "A", true) ||
        !into.touched(run.called, "C", true) || (singular && !integers(run, singular + at, 1, true, "devInfoArray")))
      return false;
    for (Index k = 0; k < n; ++k) reflect(&matrix, k, &right);
    int zero = 0;
    for (Index i = 0; i < n && !zero; ++i)
      if (matrix(i, i) == decltype(kind)(0)) zero = int(i + 1);
    if (singular) singular[at] = zero;
    for (Index j = 0; j < columns && !zero; ++j)
      for (Index i = n; i-- > 0; right(i, j) /= matrix(i, i))
        for (Index p = i + 1; p < n; ++p) right(i, j) -= matrix(i, p) * right(p, j);
    store(of, matrix);
    store(into, right);
    return true;
  });
}

}  // namespace opwright::emulation::blas
