// Products of matrices and vectors.
#include <ATen/ops/addbmm.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/addr.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/cross.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

#include "operands.h"

namespace opw::th {
namespace {

using Product = at::Tensor &(*)(at::Tensor &, const at::Tensor &, const at::Tensor &, const at::Tensor &,
                                const Scalar &, const Scalar &);

void check_rank(const Tensor *t, int rank, int argument) {
  CHECK_ARG(t->nDimension == rank, argument, "expected %dD tensor, got %dD", rank, t->nDimension);
}

void check_inner(int64_t a, int64_t b, int argument) {
  CHECK_ARG(a == b, argument, "size mismatch: the inner dimensions are %lld and %lld", static_cast<long long>(a),
            static_cast<long long>(b));
}

// f of beta * t + alpha * (the product of a and b), which has `sizes`.
void product_plus(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b,
                  IntArrayRef sizes, Product f) {
  const at::Tensor x = view(t), y = view(a), z = view(b);
  CHECK_ARG(x.sizes() == sizes, 3, "size mismatch: expected the size of the product");
  into(r, sizes, {x}, {y, z}, [&](at::Tensor &out) { f(out, x, y, z, beta, alpha); });
}

void matrix_vector(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b) {
  check_rank(a, 2, 5), check_rank(b, 1, 6), check_inner(a->size[1], b->size[0], 6);
  product_plus(r, beta, t, alpha, a, b, {a->size[0]}, at::addmv_out);
}

void matrix_matrix(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b) {
  check_rank(a, 2, 5), check_rank(b, 2, 6), check_inner(a->size[1], b->size[0], 6);
  product_plus(r, beta, t, alpha, a, b, {a->size[0], b->size[1]}, at::addmm_out);
}

void outer_product(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b) {
  check_rank(a, 1, 5), check_rank(b, 1, 6);
  product_plus(r, beta, t, alpha, a, b, {a->size[0], b->size[0]}, at::addr_out);
}

void check_batches(const Tensor *a, const Tensor *b) {
  check_rank(a, 3, 5), check_rank(b, 3, 6), check_inner(a->size[2], b->size[1], 6);
  CHECK_ARG(a->size[0] == b->size[0], 6, "expected batches of one length, got %lld and %lld",
            static_cast<long long>(a->size[0]), static_cast<long long>(b->size[0]));
}

void batch_sum(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b) {
  check_batches(a, b);
  product_plus(r, beta, t, alpha, a, b, {a->size[1], b->size[2]}, at::addbmm_out);
}

void batch_product(Tensor *r, const Scalar &beta, Tensor *t, const Scalar &alpha, Tensor *a, Tensor *b) {
  check_batches(a, b);
  product_plus(r, beta, t, alpha, a, b, {a->size[0], a->size[1], b->size[2]}, at::baddbmm_out);
}

at::Tensor rows_of(const Tensor *t, int argument) {
  check_not_empty(t, argument);
  return view(t).reshape({t->size[0], -1});
}

void distances(Tensor *r, Tensor *a, Tensor *b, const Scalar &gain) {
  const at::Tensor x = rows_of(a, 2), y = rows_of(b, 3);
  check_inner(x.size(1), y.size(1), 3);
  into(r, {x.size(0), y.size(0)}, {}, {x, y}, [&](at::Tensor &out) {
    for (int64_t i = 0; i < x.size(0); ++i) {
      const at::Tensor difference = at::sub(y, x[i]);
      out[i].copy_(difference.mul(difference).sum(1, false, x.scalar_type()).mul(gain));
    }
  });
}

int dimension_of_three(const Tensor *t) {
  for (int d = 0; d < t->nDimension; ++d)
    if (t->size[d] == 3) return d;
  FAIL("no dimension of size 3");
}

void cross_product(Tensor *r, Tensor *a, Tensor *b, int dimension) {
  CHECK_ARG(same_size(a, b), 3, "expected tensors of one size");
  if (dimension < 0) dimension = dimension_of_three(a);
  check_along(a, dimension, 4);
  CHECK_ARG(a->size[dimension] == 3, 4, "dimension %d does not have size 3, but %lld", dimension,
            static_cast<long long>(a->size[dimension]));
  const at::Tensor x = view(a), y = view(b);
  into(r, x.sizes(), {}, {x, y}, [&](at::Tensor &out) { at::cross_out(out, x, y, dimension); });
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "products.list"
#include "every_type.h"
