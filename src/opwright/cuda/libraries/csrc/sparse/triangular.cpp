// cuSPARSE: triangular systems, and the incomplete factorization that makes them.
#include <map>

#include "matrices.h"

namespace opwright::emulation::sparse {

cusparseStatus_t solve(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                       const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const cusparseDnMatDescr *c,
                       cudaDataType compute, const cusparseSpSVDescr *solver) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || !c || !alpha || !solver || !solver->analysed || !blas::known(run, {a->type, b->type, c->type}))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const Index n = a->rows, columns = turned(b_op) ? b->rows : b->columns;
  if (a->columns != n || (turned(b_op) ? b->columns : b->rows) != n || c->rows != n || c->columns != columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const bool lower = (a->fill == CUSPARSE_FILL_MODE_LOWER) != turned(a_op);  // of op(A)
  return in_type(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T by{};
    std::vector<Element<T>> elements;
    if (!blas::scalar(run, alpha, compute, "alpha", &by) || !read(run, *a, &elements) ||
        !view(*b).touched(run.called, "B", false) || !view(*c).touched(run.called, "C", true))
      return false;
    std::vector<std::vector<Element<T>>> rows{size_t(n)};
    std::vector<T> diagonal(size_t(n), T(a->diagonal == CUSPARSE_DIAG_TYPE_UNIT ? 1 : 0));
    for (Element<T> each : elements) {  // the other triangle isn't looked at
      if (turned(a_op)) std::swap(each.row, each.column), each.value = taken(a_op, each.value);
      if (each.row == each.column) {
        if (a->diagonal == CUSPARSE_DIAG_TYPE_NON_UNIT) diagonal[size_t(each.row)] += each.value;
      } else if (lower == (each.column < each.row)) {
        rows[size_t(each.row)].push_back(each);
      }
    }
    Dense<T> right, into(view(*c).rows, view(*c).columns);
    blas::load(view(*b), &right);
    for (Index j = 0; j < columns; ++j)
      for (Index step = 0; step < n; ++step) {
        const Index i = lower ? step : n - 1 - step;
        T sum = by * taken(b_op, turned(b_op) ? at(&right, *b, j, i) : at(&right, *b, i, j));
        for (const Element<T> &each : rows[size_t(i)]) sum -= each.value * at(&into, *c, each.column, j);
        at(&into, *c, i, j) = sum / diagonal[size_t(i)];
      }
    blas::store(view(*c), into);
    return true;
  });
}

cusparseStatus_t factorize(const Call &call, const cusparseSpMatDescr *a, csrilu02Info *info) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!info || a->rows < 0 || a->count < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  info->zero_pivot = -1;
  return in_type(run, a->type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<Element<T>> elements;
    if (!read(run, *a, &elements)) return false;
    std::vector<std::map<Index, T *>> rows{size_t(a->rows)};
    for (Element<T> &each : elements) rows[size_t(each.row)][each.column] = &each.value;
    const auto missing = [&](Index i) {
      const auto pivot = rows[size_t(i)].find(i);
      return pivot == rows[size_t(i)].end() || *pivot->second == T(0);
    };
    for (Index i = 0; i < a->rows; ++i) {
      for (const auto &[k, left] : rows[size_t(i)]) {  // in the order of the columns
        if (k >= i) break;
        if (missing(k)) continue;
        *left /= *rows[size_t(k)][k];
        for (const auto &[j, other] : rows[size_t(k)])
          if (j > k)
            if (const auto found = rows[size_t(i)].find(j); found != rows[size_t(i)].end())
              *found->second -= *left * *other;
      }
      if (info->zero_pivot < 0 && missing(i)) info->zero_pivot = int(i + a->base);
    }
    return write(run, *a, elements);
  });
}

}  // namespace opwright::emulation::sparse
