// What the mathematics of TH has in common: where results go, and which inputs fit each other.
#pragma once
#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <initializer_list>
#include <type_traits>

#include "tensor.h"

namespace opw::th {

using Operands = std::initializer_list<at::Tensor>;

// `b` in a's shape: TH goes by the order of the elements.
at::Tensor in_shape_of(const at::Tensor &a, const at::Tensor &b, int argument);
// Itself, or a copy where it shares memory with `other`.
at::Tensor apart_from(const at::Tensor &other, const at::Tensor &value);
// Whether writing into `r` may change what is yet to be read. A pointwise function reads and writes each place once, so
// that an input may be the result itself.
bool in_the_way(const Tensor *r, IntArrayRef sizes, Operands pointwise, Operands others);
// A number as the second operand of an ATen function; it doesn't take part in type promotion.
at::Tensor operand(const Scalar &value);
// Types in which sums are kept.
at::ScalarType sum_type(const Tensor *t);

void check_along(const Tensor *t, int dimension, int argument);
void check_not_empty(const Tensor *t, int argument);
// `sizes` with `dimension` made one, or left out where there are others.
Extents reduced(const Tensor *t, int dimension, bool keepdim);
// `out` with the dimension that it lacks of `rank`.
at::Tensor kept(const at::Tensor &out, int64_t rank, int dimension);

// Resizes `r`, and has `write` fill it: in place, or by way of a copy where that isn't safe.
template <class Write>
void into(Tensor *r, IntArrayRef sizes, Operands pointwise, Operands others, Write &&write) {
  const Extents wanted(sizes.begin(), sizes.end());  // they may be r's own
  if (in_the_way(r, wanted, pointwise, others)) {
    at::Tensor out = at::empty(wanted, view(r).options());
    write(out);
    assign(r, out);
  } else {
    resize(r, wanted);
    at::Tensor out = view(r);
    write(out);
  }
}

// Two results of one size: f(values, indices, x). `full` is how ATen sees a result that lacks a dimension.
template <class Full, class F>
void in_pairs(Tensor *values, Tensor *indices, Tensor *t, IntArrayRef sizes, Full full, F f) {
  const at::Tensor x = view(t);
  into(indices, sizes, {}, {x, view(values)}, [&](at::Tensor &places) {
    into(values, sizes, {}, {x}, [&](at::Tensor &out) {
      at::Tensor full_values = full(out), full_places = full(places);
      f(full_values, full_places, x);
    });
  });
}

// In an integer type what doesn't fit is cut off, as the processor does it.
template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T product;
    __builtin_mul_overflow(a, b, &product);
    return product;
  } else {
    return static_cast<T>(a * b);
  }
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T sum;
    __builtin_add_overflow(a, b, &sum);
    return sum;
  } else {
    return static_cast<T>(a + b);
  }
}

using Unary = at::Tensor &(*)(at::Tensor &, const at::Tensor &);
using Binary = at::Tensor &(*)(at::Tensor &, const at::Tensor &, const at::Tensor &);

}  // namespace opw::th
