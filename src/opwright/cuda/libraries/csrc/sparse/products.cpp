// cuSPARSE: products of matrices, one of which is sparse at least.
#include <map>

#include "matrices.h"

namespace opwright::emulation::sparse {
namespace {

template <class T> bool multiply_one(const Running &run, cusparseOperation_t a_op, cusparseOperation_t b_op, T by,
                                     const cusparseSpMatDescr &a, const cusparseDnMatDescr &b, T keep,
                                     const cusparseDnMatDescr &c) {
  std::vector<Element<T>> elements;
  Dense<T> right, into;
  if (!read(run, a, &elements) || !view(b).touched(run.called, "B", false)) return false;
  if ((keep != T(0) && !view(c).touched(run.called, "C", false)) || !view(c).touched(run.called, "C", true))
    return false;
  blas::load(view(b), &right);
  if (keep != T(0)) blas::load(view(c), &into);
  else into = Dense<T>(view(c).rows, view(c).columns);
  for (T &each : into.data) each *= keep;
  for (const Element<T> &each : elements) {
    const T value = by * taken(a_op, each.value);
    const Index row = turned(a_op) ? each.column : each.row, inner = turned(a_op) ? each.row : each.column;
    for (Index j = 0; j < c.columns; ++j)
      at(&into, c, row, j) += value * taken(b_op, at(&right, b, turned(b_op) ? j : inner, turned(b_op) ? inner : j));
  }
  blas::store(view(c), into);
  return true;
}

template <class T> bool sample_one(const Running &run, cusparseOperation_t a_op, cusparseOperation_t b_op, T by,
                                   const cusparseDnMatDescr &a, const cusparseDnMatDescr &b, T keep,
                                   const cusparseSpMatDescr &c) {
  std::vector<Element<T>> elements;
  if (!read(run, c, &elements) || !touched(run, c.values, c.count, blas::size_of(c.type), true, "the values") ||
      !view(a).touched(run.called, "A", false) || !view(b).touched(run.called, "B", false))
    return false;
  Dense<T> x, y, values(1, c.count);
  blas::load(view(a), &x), blas::load(view(b), &y);
  const Index k = turned(a_op) ? a.rows : a.columns;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Index row = elements[i].row, column = elements[i].column;
    T sum{};
    for (Index inner = 0; inner < k; ++inner)
      sum += taken(a_op, turned(a_op) ? at(&x, a, inner, row) : at(&x, a, row, inner)) *
             taken(b_op, turned(b_op) ? at(&y, b, column, inner) : at(&y, b, inner, column));
    values.data[i] = by * sum + (keep == T(0) ? T(0) : keep * elements[i].value);
  }
  blas::store(values_of(c), values);
  return true;
}

// one(run, alpha, A, B, beta, C) for each product of a batch, in the type that is computed in; false: it isn't possible.
template <class A, class B, class C, class F>
cusparseStatus_t each_product(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                              const A *a, const B *b, const void *beta, const C *c, cudaDataType compute, F one) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || !c || !alpha || !beta || !blas::known(run, {a->type, b->type, c->type}))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const Index m = turned(a_op) ? a->columns : a->rows, k = turned(a_op) ? a->rows : a->columns,
              n = turned(b_op) ? b->rows : b->columns;
  if ((turned(b_op) ? b->columns : b->rows) != k || c->rows != m || c->columns != n || !batches_fit(*c, *a, *b))
    return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, compute, [&](auto kind) {
    decltype(kind) by{}, keep{};
    if (!blas::scalar(run, alpha, compute, "alpha", &by) || !blas::scalar(run, beta, compute, "beta", &keep))
      return false;
    for (int each = 0; each < c->batch; ++each)
      if (!one(run, by, matrix_of(*a, each), matrix_of(*b, each), keep, matrix_of(*c, each))) return false;
    return true;
  });
}

}  // namespace

cusparseStatus_t multiply(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op, const void *alpha,
                          const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const void *beta,
                          const cusparseDnMatDescr *c, cudaDataType compute) {
  return each_product(call, a_op, b_op, alpha, a, b, beta, c, compute,
                      [&](const Running &run, auto... given) { return multiply_one(run, a_op, b_op, given...); });
}

cusparseStatus_t sampled_multiply(const Call &call, cusparseOperation_t a_op, cusparseOperation_t b_op,
                                  const void *alpha, const cusparseDnMatDescr *a, const cusparseDnMatDescr *b,
                                  const void *beta, const cusparseSpMatDescr *c, cudaDataType compute) {
  return each_product(call, a_op, b_op, alpha, a, b, beta, c, compute,
                      [&](const Running &run, auto... given) { return sample_one(run, a_op, b_op, given...); });
}

namespace {

template <class T> using Rows = std::vector<std::map<Index, T>>;

// The elements of A B by row and column; how many products of elements they are the sums of.
template <class T> bool product_of(const Running &run, const cusparseSpMatDescr &a, const cusparseSpMatDescr &b,
                                   Rows<T> *rows, Index *products) {
  std::vector<Element<T>> left, right;
  if (!read(run, a, &left) || !read(run, b, &right)) return false;
  std::vector<std::vector<const Element<T> *>> by_row(size_t(b.rows));
  for (const Element<T> &each : right) by_row[size_t(each.row)].push_back(&each);
  rows->resize(size_t(a.rows));
  for (const Element<T> &x : left)
    for (const Element<T> *y : by_row[size_t(x.column)])
      (*rows)[size_t(x.row)][y->column] += x.value * y->value, ++*products;
  return true;
}
bool product_fits(const cusparseSpMatDescr *a, const cusparseSpMatDescr *b, const cusparseSpMatDescr *c) {
  return a && b && c && a->columns == b->rows && c->rows == a->rows && c->columns == b->columns && a->batch == 1 &&
         b->batch == 1 && c->batch == 1;
}

}  // namespace

cusparseStatus_t count_product(const Call &call, const cusparseSpMatDescr *a, const cusparseSpMatDescr *b,
                               cusparseSpMatDescr *c, cudaDataType compute, cusparseSpGEMMDescr *product) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!product_fits(a, b, c) || !product) return CUSPARSE_STATUS_INVALID_VALUE;
  return in_type(run, compute, [&](auto kind) {
    Rows<decltype(kind)> rows;
    Index products = 0;
    if (!product_of(run, *a, *b, &rows, &products)) return false;
    c->count = 0;
    for (const auto &row : rows) c->count += Index(row.size());
    product->products = products;
    return true;
  });
}

cusparseStatus_t sparse_multiply(const Call &call, const void *alpha, const cusparseSpMatDescr *a,
                                 const cusparseSpMatDescr *b, const void *beta, const cusparseSpMatDescr *c,
                                 cudaDataType compute, const cusparseSpGEMMDescr *product) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!product_fits(a, b, c) || !product || product->products < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  if (c->format == CUSPARSE_FORMAT_CSC) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return in_type(run, compute, [&](auto kind) {
    using T = decltype(kind);
    T by{}, keep{};
    Rows<T> rows;
    Index products = 0, count = 0;
    if (!blas::scalar(run, alpha, compute, "alpha", &by) || !blas::scalar(run, beta, compute, "beta", &keep) ||
        !product_of(run, *a, *b, &rows, &products))
      return false;
    std::vector<Element<T>> elements;
    for (size_t row = 0; row < rows.size(); ++row)
      for (const auto &[column, value] : rows[row]) elements.push_back({Index(row), column, by * value}), ++count;
    if (count != c->count) return outside(run, "element", c->count);
    if (keep != T(0)) {  // C has the same elements already
      std::vector<Element<T>> before;
      if (!read(run, *c, &before)) return false;
      for (size_t i = 0; i < elements.size(); ++i) elements[i].value += keep * before[i].value;
    }
    return write(run, *c, elements);
  });
}

}  // namespace opwright::emulation::sparse
