// cuSPARSE: from one format to another.
#include "matrices.h"

namespace opwright::emulation::sparse {

cusparseStatus_t to_dense(const Call &call, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || a->rows != b->rows || a->columns != b->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, b->type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<Element<T>> elements;
    if (!read(run, *a, &elements) || !view(*b).touched(run.called, "the dense matrix", true)) return false;
    Dense<T> into(view(*b).rows, view(*b).columns);
    for (const Element<T> &each : elements) at(&into, *b, each.row, each.column) = each.value;
    blas::store(view(*b), into);
    return true;
  });
}

namespace {

// The elements of a dense matrix that aren't zero, in the order of the sparse one.
template <class F> cusparseStatus_t dense_elements(const Call &call, const cusparseDnMatDescr *a,
                                                   const cusparseSpMatDescr *b, F f) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || a->rows != b->rows || a->columns != b->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, a->type, [&](auto kind) {
    using T = decltype(kind);
    if (!view(*a).touched(run.called, "the dense matrix", false)) return false;
    Dense<T> from;
    blas::load(view(*a), &from);
    const bool by_columns = b->format == CUSPARSE_FORMAT_CSC;
    std::vector<Element<T>> found;
    for (Index line = 0; line < lines(*b); ++line) {
      for (Index other = 0; other < (by_columns ? a->rows : a->columns); ++other) {
        const Index row = by_columns ? other : line, column = by_columns ? line : other;
        const T value = at(&from, *a, row, column);
        if (value != T(0)) found.push_back({row, column, value});
      }
    }
    return f(run, found);
  });
}

}  // namespace

cusparseStatus_t count_dense(const Call &call, const cusparseDnMatDescr *a, cusparseSpMatDescr *b) {
  return dense_elements(call, a, b, [&](const Running &, const auto &found) {
    b->count = Index(found.size());
    return true;
  });
}

cusparseStatus_t from_dense(const Call &call, const cusparseDnMatDescr *a, const cusparseSpMatDescr *b) {
  return dense_elements(call, a, b, [&](const Running &run, const auto &found) {
    if (Index(found.size()) > b->count) return outside(run, "element", b->count);
    cusparseSpMatDescr into = *b;
    into.count = Index(found.size());
    return write(run, into, found);
  });
}

cusparseStatus_t turn(const Call &call, const cusparseSpMatDescr *by_rows, const cusparseSpMatDescr *by_columns,
                      bool values) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (by_rows->rows < 0 || by_rows->columns < 0 || by_rows->count < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, by_rows->type, [&](auto kind) {
    std::vector<Element<decltype(kind)>> elements;
    if (!read(run, *by_rows, &elements, values)) return false;
    std::stable_sort(elements.begin(), elements.end(),
                     [](const auto &a, const auto &b) { return a.column < b.column; });
    return write(run, *by_columns, elements, values);
  });
}

cusparseStatus_t sort_rows(const Call &call, const cusparseSpMatDescr *a, int *order) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  std::vector<Element<float>> elements;
  if (!read(run, *a, &elements, false) || !touched(run, a->indices, a->count, sizeof(int), true, "the columns") ||
      (order && (!touched(run, order, a->count, sizeof(int), false, "the permutation") ||
                 !touched(run, order, a->count, sizeof(int), true, "the permutation"))))
    return CUSPARSE_STATUS_EXECUTION_FAILED;
  std::vector<size_t> places(elements.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::stable_sort(places.begin(), places.end(), [&](size_t x, size_t y) {
    return std::make_pair(elements[x].row, elements[x].column) < std::make_pair(elements[y].row, elements[y].column);
  });
  const std::vector<int> before = order ? std::vector<int>(order, order + a->count) : std::vector<int>();
  for (size_t i = 0; i < places.size(); ++i) {
    set_index(a->indices, a->index_type, Index(i), elements[places[i]].column + a->base);
    if (order) order[i] = before[places[i]];
  }
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t identity(const Call &call, int n, int *order) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (n < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!touched(run, order, n, sizeof(int), true, "the permutation")) return CUSPARSE_STATUS_EXECUTION_FAILED;
  for (int i = 0; i < n; ++i) order[i] = i;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t count(const Call &call, cusparseDirection_t by, const cusparseDnMatDescr *a, int *each, int *all) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (a->rows < 0 || a->columns < 0 || a->ld < a->rows || !all) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, a->type, [&](auto kind) {
    using T = decltype(kind);
    std::vector<int> counts(size_t(by == CUSPARSE_DIRECTION_ROW ? a->rows : a->columns));
    if (!view(*a).touched(run.called, "A", false) ||
        !touched(run, each, Index(counts.size()), sizeof(int), true, "the counts") ||
        (run.device_scalars && !touched(run, all, 1, sizeof(int), true, "the count")))
      return false;
    Dense<T> from;
    blas::load(view(*a), &from);
    *all = 0;
    for (Index j = 0; j < a->columns; ++j)
      for (Index i = 0; i < a->rows; ++i)
        if (from(i, j) != T(0)) ++counts[size_t(by == CUSPARSE_DIRECTION_ROW ? i : j)], ++*all;
    std::copy(counts.begin(), counts.end(), each);
    return true;
  });
}

}  // namespace opwright::emulation::sparse
