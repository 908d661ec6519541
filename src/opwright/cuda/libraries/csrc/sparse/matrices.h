// Sparse matrices as lists of their elements, whatever their format.
#pragma once

#include <opwright/emulation/libraries/sparse.h>

#include "../blas/elements.h"

namespace opwright::emulation::sparse {

using blas::Dense;
using blas::Index;
using blas::Running;
using blas::View;

// False: the handle isn't one (CUSPARSE_STATUS_NOT_INITIALIZED).
bool running(const Call &call, Running *run);

inline size_t bytes_of(cusparseIndexType_t type) {
  return type == CUSPARSE_INDEX_32I ? 4 : type == CUSPARSE_INDEX_64I ? 8 : 2;
}
inline Index index_at(const void *indices, cusparseIndexType_t type, Index at) {
  if (type == CUSPARSE_INDEX_32I) return static_cast<const int32_t *>(indices)[at];
  if (type == CUSPARSE_INDEX_64I) return static_cast<const int64_t *>(indices)[at];
  return static_cast<const uint16_t *>(indices)[at];
}
inline void set_index(void *indices, cusparseIndexType_t type, Index at, Index value) {
  if (type == CUSPARSE_INDEX_32I) static_cast<int32_t *>(indices)[at] = int32_t(value);
  else if (type == CUSPARSE_INDEX_64I) static_cast<int64_t *>(indices)[at] = value;
  else static_cast<uint16_t *>(indices)[at] = uint16_t(value);
}

inline bool touched(const Running &run, const void *memory, Index count, size_t bytes, bool writes, const char *name) {
  const size_t all = size_t(count) * bytes;
  return may_touch(memory, all, all, 1, writes, name, run.called);
}
// The lines along which a compressed matrix lies: its rows, or columns.
inline Index lines(const cusparseSpMatDescr &a) { return a.format == CUSPARSE_FORMAT_CSC ? a.columns : a.rows; }

inline View values_of(const cusparseSpMatDescr &a) {
  return View{static_cast<char *>(a.values), a.type, 1, a.count, 1};
}

template <class T> struct Element {
  Index row, column;
  T value;
};

inline bool outside(const Running &run, const char *what, Index at) {
  note(cudaErrorIllegalAddress, run.called,
       (std::string(what) + " " + std::to_string(at) + " isn't in the matrix").c_str());
  return false;
}

// Their elements in the order of the memory; with `values` false, all are 0.
template <class T>
bool read(const Running &run, const cusparseSpMatDescr &a, std::vector<Element<T>> *into, bool values = true) {
  const bool pairs = a.format == CUSPARSE_FORMAT_COO;
  if (!touched(run, a.offsets, pairs ? a.count : lines(a) + 1, bytes_of(a.offset_type), false,
               pairs ? "the rows" : "the offsets") ||
      !touched(run, a.indices, a.count, bytes_of(a.index_type), false, "the indices") ||
      (values && !touched(run, a.values, a.count, blas::size_of(a.type), false, "the values")))
    return false;
  Dense<T> loaded(1, a.count);
  if (values) blas::load(values_of(a), &loaded);
  into->reserve(size_t(a.count));
  const auto add = [&](Index line, Index at) {
    const Index other = index_at(a.indices, a.index_type, at) - a.base;
    const Index row = a.format == CUSPARSE_FORMAT_CSC ? other : line,
                column = a.format == CUSPARSE_FORMAT_CSC ? line : other;
    if (row < 0 || row >= a.rows) return outside(run, "row", row);
    if (column < 0 || column >= a.columns) return outside(run, "column", column);
    into->push_back({row, column, loaded.data[size_t(at)]});
    return true;
  };
  if (pairs) {
    for (Index at = 0; at < a.count; ++at)
      if (!add(index_at(a.offsets, a.offset_type, at) - a.base, at)) return false;
    return true;
  }
  for (Index line = 0; line < lines(a); ++line) {
    const Index first = index_at(a.offsets, a.offset_type, line) - a.base;
    const Index end = index_at(a.offsets, a.offset_type, line + 1) - a.base;
    if (first < 0 || end > a.count) return outside(run, "offset", first < 0 ? first : end);
    for (Index at = first; at < end; ++at)
      if (!add(line, at)) return false;
  }
  return true;
}

// All arrays of a matrix from its elements, which are in its order; the values only if they are wanted.
template <class T> bool write(const Running &run, const cusparseSpMatDescr &a, const std::vector<Element<T>> &elements,
                              bool values = true) {
  const bool pairs = a.format == CUSPARSE_FORMAT_COO, by_columns = a.format == CUSPARSE_FORMAT_CSC;
  if (!touched(run, a.offsets, pairs ? a.count : lines(a) + 1, bytes_of(a.offset_type), true,
               pairs ? "the rows" : "the offsets") ||
      !touched(run, a.indices, a.count, bytes_of(a.index_type), true, "the indices") ||
      (values && !touched(run, a.values, a.count, blas::size_of(a.type), true, "the values")))
    return false;
  Dense<T> stored(1, a.count);
  std::vector<Index> offsets(size_t(lines(a) + 1));
  for (size_t i = 0; i < elements.size(); ++i) {
    stored.data[i] = elements[i].value;
    const Index line = by_columns ? elements[i].column : elements[i].row;
    set_index(a.indices, a.index_type, Index(i), (by_columns ? elements[i].row : elements[i].column) + a.base);
    if (pairs) set_index(a.offsets, a.offset_type, Index(i), line + a.base);
    ++offsets[size_t(line + 1)];
  }
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  for (size_t i = 0; !pairs && i < offsets.size(); ++i)
    set_index(a.offsets, a.offset_type, Index(i), offsets[i] + a.base);
  if (values) blas::store(values_of(a), stored);
  return true;
}

// Matrix number `at` of a batch; one that isn't in a batch is the same for all.
inline cusparseSpMatDescr matrix_of(cusparseSpMatDescr a, Index at) {
  if (a.batch == 1) return a;
  a.offsets = static_cast<char *>(a.offsets) + at * a.offsets_stride * Index(bytes_of(a.offset_type));
  a.indices = static_cast<char *>(a.indices) + at * a.values_stride * Index(bytes_of(a.index_type));
  a.values = static_cast<char *>(a.values) + at * a.values_stride * Index(blas::size_of(a.type));
  return a;
}
inline cusparseDnMatDescr matrix_of(cusparseDnMatDescr a, Index at) {
  if (a.batch > 1) a.values = static_cast<char *>(a.values) + at * a.stride * Index(blas::size_of(a.type));
  return a;
}
template <class Into, class A, class B> bool batches_fit(const Into &into, const A &a, const B &b) {
  return (a.batch == 1 || a.batch == into.batch) && (b.batch == 1 || b.batch == into.batch);
}

inline View view(const cusparseDnMatDescr &a) {
  const bool by_rows = a.order == CUSPARSE_ORDER_ROW;
  return {static_cast<char *>(a.values), a.type, by_rows ? a.columns : a.rows, by_rows ? a.rows : a.columns, a.ld};
}
template <class T> T &at(Dense<T> *memory, const cusparseDnMatDescr &a, Index row, Index column) {
  return a.order == CUSPARSE_ORDER_ROW ? (*memory)(column, row) : (*memory)(row, column);
}

template <class T> T taken(cusparseOperation_t op, T value) {
  return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? blas::conjugated(value) : value;
}
inline bool turned(cusparseOperation_t op) { return op != CUSPARSE_OPERATION_NON_TRANSPOSE; }

template <class F> cusparseStatus_t in_type(const Running &run, cudaDataType type, F f) {
  const cublasStatus_t status = blas::computed(
      run, type, [&](auto kind) { return f(kind) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED; });
  return status == CUBLAS_STATUS_SUCCESS         ? CUSPARSE_STATUS_SUCCESS
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? CUSPARSE_STATUS_NOT_SUPPORTED
                                                 : CUSPARSE_STATUS_EXECUTION_FAILED;
}

}  // namespace opwright::emulation::sparse
