// One number of many: of all elements, or along a dimension.
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/median.h>
#include <ATen/ops/min.h>
#include <ATen/ops/mode.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/renorm.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var.h>

#include "operands.h"

namespace opw::th {
namespace {

Scalar sum_all(Tensor *t) { return at::sum(view(t), sum_type(t)).item(); }

Scalar product_all(Tensor *t) { return at::prod(view(t), sum_type(t)).item(); }

at::Tensor some(Tensor *t) {
  check_not_empty(t, 1);
  return view(t);
}

Scalar mean_all(Tensor *t) { return at::mean(some(t), sum_type(t)).item(); }

Scalar variance_all(Tensor *t, int biased) {
  return at::var(some(t).to(sum_type(t)), std::nullopt, biased ? 0 : 1).item();
}

Scalar deviation_all(Tensor *t, int biased) {
  return at::std(some(t).to(sum_type(t)), std::nullopt, biased ? 0 : 1).item();
}

Scalar norm_all(const at::Tensor &x, const Scalar &p) { return at::norm(x, p, at::kDouble).item(); }

Scalar distance(Tensor *a, Tensor *b, const Scalar &p) {
  const at::Tensor x = view(a);
  return norm_all(at::sub(x, in_shape_of(x, view(b), 2)), p);
}

Scalar inner_product(Tensor *a, Tensor *b) {
  const at::Tensor x = view(a), y = in_shape_of(x, view(b), 2);
  if (c10::isFloatingType(x.scalar_type())) return at::dot(x.reshape(-1), y.reshape(-1)).item();
  return at::dot(x.reshape(-1).to(at::kLong), y.reshape(-1).to(at::kLong)).item();
}

Scalar trace(Tensor *t) {
  CHECK_ARG(t->nDimension == 2, 1, "expected a matrix, got %dD tensor", t->nDimension);
  return at::sum(view(t).diagonal(), sum_type(t)).item();
}

bool are_equal(Tensor *a, Tensor *b) { return same_size(a, b) && (a->nDimension == 0 || at::equal(view(a), view(b))); }

// f(out, x, dimension), where `out` has all of x's dimensions, this one of size 1.
template <class F>
void along(Tensor *r, Tensor *t, int dimension, int keepdim, F f) {
  check_along(t, dimension, 3);
  const at::Tensor x = view(t);
  into(r, reduced(t, dimension, keepdim), {}, {x}, [&](at::Tensor &out) {
    at::Tensor full = kept(out, x.dim(), dimension);
    f(full, x, dimension);
  });
}

void sum(Tensor *r, Tensor *t, int dimension, int keepdim) {
  along(r, t, dimension, keepdim,
        [](at::Tensor &out, const at::Tensor &x, int64_t d) { at::sum_out(out, x, d, true, x.scalar_type()); });
}

void product(Tensor *r, Tensor *t, int dimension, int keepdim) {
  along(r, t, dimension, keepdim,
        [](at::Tensor &out, const at::Tensor &x, int64_t d) { at::prod_out(out, x, d, true, x.scalar_type()); });
}

void mean(Tensor *r, Tensor *t, int dimension, int keepdim) {
  along(r, t, dimension, keepdim,
        [](at::Tensor &out, const at::Tensor &x, int64_t d) { at::mean_out(out, x, d, true); });
}

void variance(Tensor *r, Tensor *t, int dimension, int biased, int keepdim) {
  along(r, t, dimension, keepdim,
        [&](at::Tensor &out, const at::Tensor &x, int64_t d) { at::var_out(out, x, d, Scalar(biased ? 0 : 1), true); });
}

void deviation(Tensor *r, Tensor *t, int dimension, int biased, int keepdim) {
  along(r, t, dimension, keepdim,
        [&](at::Tensor &out, const at::Tensor &x, int64_t d) { at::std_out(out, x, d, Scalar(biased ? 0 : 1), true); });
}

void norm(Tensor *r, Tensor *t, const Scalar &p, int dimension, int keepdim) {
  along(r, t, dimension, keepdim,
        [&](at::Tensor &out, const at::Tensor &x, int64_t d) { at::norm_out(out, x, p, d, true); });
}

void all_or_any(Tensor *r, Tensor *t, int dimension, int keepdim, bool all) {
  along(r, t, dimension, keepdim, [&](at::Tensor &out, const at::Tensor &x, int64_t d) {
    const at::Tensor found = x.ne(0);
    out.copy_(all ? found.all(d, true) : found.any(d, true));
  });
}

template <class F>
void chosen(Tensor *values, Tensor *indices, Tensor *t, int dimension, int keepdim, F f) {
  check_along(t, dimension, 4);
  const int64_t rank = t->nDimension;  // t may be `values`
  in_pairs(
      values, indices, t, reduced(t, dimension, keepdim),
      [&](const at::Tensor &out) { return kept(out, rank, dimension); }, f);
}

void largest(Tensor *values, Tensor *indices, Tensor *t, int d, int keepdim) {
  chosen(values, indices, t, d, keepdim,
         [d](at::Tensor &v, at::Tensor &i, const at::Tensor &x) { at::max_out(v, i, x, d, true); });
}

void smallest(Tensor *values, Tensor *indices, Tensor *t, int d, int keepdim) {
  chosen(values, indices, t, d, keepdim,
         [d](at::Tensor &v, at::Tensor &i, const at::Tensor &x) { at::min_out(v, i, x, d, true); });
}

void median(Tensor *values, Tensor *indices, Tensor *t, int d, int keepdim) {
  chosen(values, indices, t, d, keepdim,
         [d](at::Tensor &v, at::Tensor &i, const at::Tensor &x) { at::median_out(v, i, x, d, true); });
}

void mode(Tensor *values, Tensor *indices, Tensor *t, int d, int keepdim) {
  chosen(values, indices, t, d, keepdim,
         [d](at::Tensor &v, at::Tensor &i, const at::Tensor &x) { at::mode_out(v, i, x, d, true); });
}

void kth_value(Tensor *values, Tensor *indices, Tensor *t, int64_t k, int d, int keepdim) {
  chosen(values, indices, t, d, keepdim,
         [d, k](at::Tensor &v, at::Tensor &i, const at::Tensor &x) { at::kthvalue_out(v, i, x, k, d, true); });
}

void running(Tensor *r, Tensor *t, int dimension, bool products) {
  check_along(t, dimension, 3);
  const at::Tensor x = view(t);
  into(r, x.sizes(), {}, {x}, [&](at::Tensor &out) {
    products ? at::cumprod_out(out, x, dimension, x.scalar_type()) : at::cumsum_out(out, x, dimension, x.scalar_type());
  });
}

void renorm(Tensor *r, Tensor *t, const Scalar &p, int dimension, const Scalar &maximum) {
  check_along(t, dimension, 4);
  const at::Tensor x = view(t);
  into(r, x.sizes(), {}, {x}, [&](at::Tensor &out) { at::renorm_out(out, x, p, dimension, maximum); });
}

void histogram(Tensor *r, Tensor *t, int64_t bins, const Scalar &low, const Scalar &high) {
  CHECK_ARG(bins > 0, 3, "expected at least one bin, got %lld", static_cast<long long>(bins));
  const at::Tensor x = view(t);
  into(r, {bins}, {}, {x}, [&](at::Tensor &out) { at::histc_out(out, x, bins, low, high); });
}

// With one range for all rows.
void histograms(Tensor *r, Tensor *t, int64_t bins, Scalar low, Scalar high) {
  CHECK_ARG(bins > 0, 3, "expected at least one bin, got %lld", static_cast<long long>(bins));
  CHECK_ARG(t->nDimension == 1 || t->nDimension == 2, 2, "expected one or two dimensions, got %d", t->nDimension);
  const at::Tensor x = t->nDimension == 2 ? view(t) : view(t).unsqueeze(0);
  if (low.equal(high.toDouble()) && x.numel()) low = x.min().item(), high = x.max().item();
  into(r, {x.size(0), bins}, {}, {x}, [&](at::Tensor &out) {
    for (int64_t row = 0; row < x.size(0); ++row) out[row].copy_(at::histc(x[row], bins, low, high));
  });
}

bool all_set(Tensor *t) { return view(t).ne(0).all().item<bool>(); }

bool any_set(Tensor *t) { return view(t).ne(0).any().item<bool>(); }

}  // namespace
}  // namespace opw::th

#define OPW_LIST "reduce.list"
#include "every_type.h"
