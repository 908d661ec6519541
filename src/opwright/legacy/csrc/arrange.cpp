// Tensors made anew, and the elements of others in a new order.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/diag.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/logspace.h>
#include <ATen/ops/range.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

#include <vector>

#include "operands.h"

namespace opw::th {
namespace {

void filled(Tensor *r, IntArrayRef sizes, const Scalar &value) {
  const Extents wanted(sizes.begin(), sizes.end());
  resize(r, wanted);
  view(r).fill_(value);
}

void identity(Tensor *r, int64_t n, int64_t m) {
  CHECK_ARG(n > 0, 2, "expected at least one row, got %lld", static_cast<long long>(n));
  const int64_t sizes[] = {n, m < 1 ? n : m};
  resize(r, sizes);
  at::Tensor out = view(r);
  at::eye_out(out, sizes[0], sizes[1]);
}

// A result that has as many elements already keeps its shape.
void assign_row(Tensor *r, const at::Tensor &row) {
  if (row.numel() > 0 && elements(r) == row.numel()) view(r).copy_(row.reshape(r->sizes()));
  else assign(r, row);
}

void numbers(Tensor *r, const Scalar &first, const Scalar &last, const Scalar &step) {
  assign_row(r, at::arange(first, last, step, view(r).options()));
}

void numbers_with_end(Tensor *r, const Scalar &first, const Scalar &last, const Scalar &step) {
  assign_row(r, at::range(first, last, step, view(r).options()));
}

void evenly(Tensor *r, const Scalar &first, const Scalar &last, int64_t n, bool powers) {
  CHECK_ARG(n > 1 || (n == 1 && first.toDouble() == last.toDouble()), 3, "expected at least 2 points, got %lld",
            static_cast<long long>(n));
  assign_row(r, powers ? at::logspace(first, last, n, 10.0, view(r).options())
                       : at::linspace(first, last, n, view(r).options()));
}

void diagonal(Tensor *r, Tensor *t, int k) {
  CHECK_ARG(t->nDimension == 1 || t->nDimension == 2, 2, "expected a matrix or a vector, got %dD tensor",
            t->nDimension);
  assign(r, at::diag(view(t), k));
}

void reshaped(Tensor *r, Tensor *t, const Storage *sizes) {
  const at::Tensor x = view(t);
  const int64_t wanted = checked_product(longs(sizes));
  CHECK_ARG(wanted == x.numel(), 3, "sizes do not match: %lld elements can't be had from %lld",
            static_cast<long long>(wanted), static_cast<long long>(x.numel()));
  into(r, longs(sizes), {}, {x}, [&](at::Tensor &out) { out.copy_(x.reshape(out.sizes())); });
}

void triangle(Tensor *r, Tensor *t, int64_t k, bool lower) {
  CHECK_ARG(t->nDimension == 2, 2, "expected a matrix, got %dD tensor", t->nDimension);
  const at::Tensor x = view(t);
  into(r, x.sizes(), {}, {x}, [&](at::Tensor &out) { lower ? at::tril_out(out, x, k) : at::triu_out(out, x, k); });
}

// Inputs of no dimension count for nothing; -2 means the last dimension.
void joined(Tensor *r, Tensor *const *inputs, int count, int dimension) {
  CHECK_ARG(count > 0, 3, "expected at least one tensor to join, got %d", count);
  std::vector<at::Tensor> parts;
  for (int i = 0; i < count; ++i)
    if (inputs[i]->nDimension > 0) parts.push_back(view(inputs[i]));
  if (parts.empty()) return;
  if (dimension == -2) dimension = static_cast<int>(parts[0].dim()) - 1;
  CHECK_ARG(dimension >= 0 && dimension < parts[0].dim(), 4, "dimension %d out of range of %lldD tensor", dimension,
            static_cast<long long>(parts[0].dim()));
  assign(r, at::cat(parts, dimension));
}

void joined(Tensor *r, Tensor *a, Tensor *b, int dimension) {
  Tensor *const inputs[] = {a, b};
  joined(r, inputs, 2, dimension);
}

void sorted(Tensor *values, Tensor *indices, Tensor *t, int dimension, int descending) {
  check_along(t, dimension, 4);
  in_pairs(
      values, indices, t, t->sizes(), [](const at::Tensor &out) { return out; },
      [&](at::Tensor &v, at::Tensor &i, const at::Tensor &x) {
        at::sort_out(v, i, x, true, dimension, descending != 0);
      });
}

void top(Tensor *values, Tensor *indices, Tensor *t, int64_t k, int dimension, int largest, int sorted) {
  check_along(t, dimension, 5);
  CHECK_ARG(k >= 0 && k <= t->size[dimension], 4, "k is %lld, the dimension has %lld elements",
            static_cast<long long>(k), static_cast<long long>(t->size[dimension]));
  Extents sizes(t->sizes().begin(), t->sizes().end());
  sizes[static_cast<size_t>(dimension)] = k;
  in_pairs(
      values, indices, t, sizes, [](const at::Tensor &out) { return out; },
      [&](at::Tensor &v, at::Tensor &i, const at::Tensor &x) {
        at::topk_out(v, i, x, k, dimension, largest != 0, sorted != 0);
      });
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "arrange.list"
#include "every_type.h"
