// cuSPARSE: sparse matrices as lists of their elements, whatever their format.
#include <opwright/emulation/libraries/sparse.h>

#include "../blas/elements.h"
#include "../handles.h"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace opwright::emulation::sparse {
namespace {

using blas::Dense;
using blas::Index;
using blas::Running;
using blas::View;

Handles<cusparseHandle_t> &handles() { return Handles<cusparseHandle_t>::all(); }
bool running(const Call &call, Running *run) {
  if (!handles().has(call.handle)) {
    note(cudaErrorInvalidResourceHandle, {call.name, call.file, call.line},
         "the handle isn't of cusparseCreate, or was destroyed");
    return false;
  }
  *run = {{call.name, call.file, call.line, call.handle->stream, true},
          call.handle->mode == CUSPARSE_POINTER_MODE_DEVICE};
  return true;
}

constexpr Named<cusparseStatus_t> names[] = {
    {CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success"},
    {CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
};

size_t bytes_of(cusparseIndexType_t type) {
  return type == CUSPARSE_INDEX_32I ? 4 : type == CUSPARSE_INDEX_64I ? 8 : 2;
}
Index index_at(const void *indices, cusparseIndexType_t type, Index at) {
  if (type == CUSPARSE_INDEX_32I) return static_cast<const int32_t *>(indices)[at];
  if (type == CUSPARSE_INDEX_64I) return static_cast<const int64_t *>(indices)[at];
  return static_cast<const uint16_t *>(indices)[at];
}
void set_index(void *indices, cusparseIndexType_t type, Index at, Index value) {
  if (type == CUSPARSE_INDEX_32I) static_cast<int32_t *>(indices)[at] = int32_t(value);
  else if (type == CUSPARSE_INDEX_64I) static_cast<int64_t *>(indices)[at] = value;
  else static_cast<uint16_t *>(indices)[at] = uint16_t(value);
}

bool touched(const Running &run, const void *memory, Index count, size_t bytes, bool writes, const char *name) {
  const size_t all = size_t(count) * bytes;
  return may_touch(memory, all, all, 1, writes, name, run.called);
}
// The lines along which a compressed matrix lies: its rows, or columns.
Index lines(const cusparseSpMatDescr &a) { return a.format == CUSPARSE_FORMAT_CSC ? a.columns : a.rows; }

template <class T> struct Element {
  Index row, column;
  T value;
};

bool outside(const Running &run, const char *what, Index at) {
  note(cudaErrorIllegalAddress, run.called,
       (std::string(what) + " " + std::to_string(at) + " isn't in the matrix").c_str());
  return false;
}

template <class T> bool read(const Running &run, const cusparseSpMatDescr &a, std::vector<Element<T>> *into) {
  const bool pairs = a.format == CUSPARSE_FORMAT_COO;
  if (!touched(run, a.offsets, pairs ? a.count : lines(a) + 1, bytes_of(a.offset_type), false,
               pairs ? "the rows" : "the offsets") ||
      !touched(run, a.indices, a.count, bytes_of(a.index_type), false, "the indices") ||
      !touched(run, a.values, a.count, blas::size_of(a.type), false, "the values"))
    return false;
  Dense<T> values;
  blas::load(View{static_cast<char *>(a.values), a.type, 1, a.count, 1}, &values);
  into->reserve(size_t(a.count));
  const auto add = [&](Index line, Index at) {
    const Index other = index_at(a.indices, a.index_type, at) - a.base;
    const Index row = a.format == CUSPARSE_FORMAT_CSC ? other : line,
                column = a.format == CUSPARSE_FORMAT_CSC ? line : other;
    if (row < 0 || row >= a.rows) return outside(run, "row", row);
    if (column < 0 || column >= a.columns) return outside(run, "column", column);
    into->push_back({row, column, values.data[size_t(at)]});
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

View view(const cusparseDnMatDescr &a) {
  const bool by_rows = a.order == CUSPARSE_ORDER_ROW;
  return {static_cast<char *>(a.values), a.type, by_rows ? a.columns : a.rows, by_rows ? a.rows : a.columns, a.ld};
}
template <class T> T &at(Dense<T> *memory, const cusparseDnMatDescr &a, Index row, Index column) {
  return a.order == CUSPARSE_ORDER_ROW ? (*memory)(column, row) : (*memory)(row, column);
}

template <class F> cusparseStatus_t in_type(const Running &run, cudaDataType type, F f) {
  const cublasStatus_t status = blas::computed(
      run, type, [&](auto kind) { return f(kind) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED; });
  return status == CUBLAS_STATUS_SUCCESS         ? CUSPARSE_STATUS_SUCCESS
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? CUSPARSE_STATUS_NOT_SUPPORTED
                                                 : CUSPARSE_STATUS_EXECUTION_FAILED;
}

}  // namespace

cusparseStatus_t create(cusparseHandle_t *handle) {
  if (!handle) return CUSPARSE_STATUS_INVALID_VALUE;
  *handle = new cusparseContext;
  handles().add(*handle);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t destroy(const Call &call) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handles().remove(call.handle);
  delete call.handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t stream(const Call &call, cudaStream_t value) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  call.handle->stream = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t pointer_mode(const Call &call, cusparsePointerMode_t value) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  call.handle->mode = value;
  return CUSPARSE_STATUS_SUCCESS;
}
const char *status_name(cusparseStatus_t status) { return name_of(names, status); }
const char *status_text(cusparseStatus_t status) { return text_of(names, status); }

cusparseStatus_t multiply(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                          const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const void *beta,
                          const cusparseDnMatDescr *c, cudaDataType compute) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || !c || !alpha || !beta || !blas::known(run, {a->type, b->type, c->type}))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const bool a_turned = a_op != CUSPARSE_OPERATION_NON_TRANSPOSE, b_turned = b_op != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const Index m = a_turned ? a->columns : a->rows, k = a_turned ? a->rows : a->columns,
              n = b_turned ? b->rows : b->columns;
  if ((b_turned ? b->columns : b->rows) != k || c->rows != m || c->columns != n) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T by{}, keep{};
    std::vector<Element<T>> elements;
    Dense<T> right, into;
    if (!blas::scalar(run, alpha, compute, "alpha", &by) || !blas::scalar(run, beta, compute, "beta", &keep) ||
        !read(run, *a, &elements) || !view(*b).touched(run.called, "B", false))
      return false;
    if ((keep != T(0) && !view(*c).touched(run.called, "C", false)) || !view(*c).touched(run.called, "C", true))
      return false;
    blas::load(view(*b), &right);
    if (keep != T(0)) blas::load(view(*c), &into);
    else into = Dense<T>(view(*c).rows, view(*c).columns);
    for (T &each : into.data) each *= keep;
    for (const Element<T> &each : elements) {
      const T value = by * (a_op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? blas::conjugated(each.value) : each.value);
      const Index row = a_turned ? each.column : each.row, inner = a_turned ? each.row : each.column;
      for (Index j = 0; j < n; ++j) {
        const T other = at(&right, *b, b_turned ? j : inner, b_turned ? inner : j);
        at(&into, *c, row, j) +=
            value * (b_op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? blas::conjugated(other) : other);
      }
    }
    blas::store(view(*c), into);
    return true;
  });
}

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
    std::vector<Index> offsets{0};
    for (Index line = 0; line < lines(*b); ++line) {
      for (Index other = 0; other < (by_columns ? a->rows : a->columns); ++other) {
        const Index row = by_columns ? other : line, column = by_columns ? line : other;
        const T value = at(&from, *a, row, column);
        if (value != T(0)) found.push_back({row, column, value});
      }
      offsets.push_back(Index(found.size()));
    }
    return f(run, found, offsets);
  });
}

}  // namespace

cusparseStatus_t count_dense(const Call &call, const cusparseDnMatDescr *a, cusparseSpMatDescr *b) {
  return dense_elements(call, a, b, [&](const Running &, const auto &found, const auto &) {
    b->count = Index(found.size());
    return true;
  });
}

cusparseStatus_t from_dense(const Call &call, const cusparseDnMatDescr *a, const cusparseSpMatDescr *b) {
  return dense_elements(call, a, b, [&](const Running &run, const auto &found, const auto &offsets) {
    const bool pairs = b->format == CUSPARSE_FORMAT_COO, by_columns = b->format == CUSPARSE_FORMAT_CSC;
    const Index count = Index(found.size());
    if (count > b->count) return outside(run, "element", b->count);
    if (!touched(run, b->offsets, pairs ? count : Index(offsets.size()), bytes_of(b->offset_type), true,
                 pairs ? "the rows" : "the offsets") ||
        !touched(run, b->indices, count, bytes_of(b->index_type), true, "the indices") ||
        !touched(run, b->values, count, blas::size_of(b->type), true, "the values"))
      return false;
    using T = decltype(found[0].value + found[0].value);
    Dense<T> values(1, count);
    for (Index i = 0; i < count; ++i) {
      values.data[size_t(i)] = found[size_t(i)].value;
      set_index(b->indices, b->index_type, i, (by_columns ? found[size_t(i)].row : found[size_t(i)].column) + b->base);
      if (pairs) set_index(b->offsets, b->offset_type, i, found[size_t(i)].row + b->base);
    }
    for (size_t i = 0; !pairs && i < offsets.size(); ++i)
      set_index(b->offsets, b->offset_type, Index(i), offsets[i] + b->base);
    blas::store(View{static_cast<char *>(b->values), b->type, 1, count, 1}, values);
    return true;
  });
}

}  // namespace opwright::emulation::sparse
