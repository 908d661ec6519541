// Functions of each element by itself.
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/digamma.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/frac.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/lgamma.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/polygamma.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/where.h>

#include "operands.h"

namespace opw::th {
namespace {

void unary(Tensor *r, Tensor *t, Unary f) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { f(out, x); });
}

void with_number(Tensor *r, Tensor *t, const Scalar &value, Binary f) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { f(out, x, operand(value)); });
}

void binary(Tensor *r, Tensor *a, Tensor *b, Binary f) {
  const at::Tensor x = view(a), y = in_shape_of(x, view(b), 3);
  into(r, x.sizes(), {x, y}, {}, [&](at::Tensor &out) { f(out, x, y); });
}

void scaled(Tensor *r, Tensor *a, const Scalar &scale, Tensor *b, bool plus) {
  const at::Tensor x = view(a), y = in_shape_of(x, view(b), 4);
  into(r, x.sizes(), {x, y}, {},
       [&](at::Tensor &out) { plus ? at::add_out(out, x, y, scale) : at::sub_out(out, x, y, scale); });
}

at::Tensor &plus_number(at::Tensor &out, const at::Tensor &x, const at::Tensor &y) { return at::add_out(out, x, y); }

at::Tensor &minus_number(at::Tensor &out, const at::Tensor &x, const at::Tensor &y) { return at::sub_out(out, x, y); }

// Integers as in C: cut off towards zero. The processor traps where the quotient of the least number and -1 doesn't fit.
at::Tensor &quotient(at::Tensor &out, const at::Tensor &x, const at::Tensor &y) {
  const auto type = x.scalar_type();
  if (c10::isFloatingType(type)) return at::div_out(out, x, y);
  if (type != at::kInt && type != at::kLong) return at::div_out(out, x, y, "trunc");
  const at::Tensor negates = at::eq(y, -1);
  if (!negates.any().item<bool>()) return at::div_out(out, x, y, "trunc");
  const at::Tensor safe = at::div(x, at::where(negates, at::ones_like(y), y), "trunc");
  return at::where_out(out, negates, at::neg(x), safe);
}

at::Tensor &reciprocal(at::Tensor &out, const at::Tensor &x) { return quotient(out, at::ones_like(x), x); }

void check_integers(const Tensor *t, const char *name) {
  if (c10::isFloatingType(t->type().scalar)) FAIL("%s is only supported for integer type tensors", name);
}

void bits(Tensor *r, Tensor *t, const Scalar &value, Binary f, const char *name) {
  check_integers(t, name);
  with_number(r, t, value, f);
}

void bits(Tensor *r, Tensor *a, Tensor *b, Binary f, const char *name) {
  check_integers(a, name);
  binary(r, a, b, f);
}

// Floating numbers are multiplied by a power of 2.
at::Tensor &left_shift(at::Tensor &out, const at::Tensor &x, const at::Tensor &y) {
  if (c10::isFloatingType(x.scalar_type())) return at::mul_out(out, x, at::exp2(y));
  return at::bitwise_left_shift_out(out, x, y);
}

// Zeros come in from the left, whatever the sign: TH shifts the bits, and not the number.
at::Tensor &right_shift(at::Tensor &out, const at::Tensor &x, const at::Tensor &y) {
  if (c10::isFloatingType(x.scalar_type())) return at::div_out(out, x, at::exp2(y));
  const auto width = static_cast<int64_t>(8 * x.element_size());
  const at::Tensor shift = y.to(x.scalar_type()).clamp(0, width), shifted = at::bitwise_right_shift(x, shift);
  const at::Tensor all = at::ones_like(shift).neg(), cleared = at::bitwise_left_shift(all, at::rsub(shift, width));
  return at::bitwise_and_out(out, shifted, at::where(at::eq(shift, 0), all, at::bitwise_not(cleared)));
}

void clamp(Tensor *r, Tensor *t, const Scalar &low, const Scalar &high) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { at::clamp_out(out, x, low, high); });
}

// C computes with int where a type is narrower.
at::Tensor as_c(const at::Tensor &x) {
  return c10::isIntegralType(x.scalar_type(), false) && x.element_size() < 4 ? x.to(at::kInt) : x;
}

void add_quotient(at::Tensor &out, const at::Tensor &t, const Scalar &value, const at::Tensor &a, const at::Tensor &b) {
  if (c10::isFloatingType(t.scalar_type())) {
    at::addcdiv_out(out, t, a, b, value);
    return;
  }
  const at::Tensor divided = at::mul(as_c(a), operand(value));
  at::Tensor made = at::empty_like(divided);
  quotient(made, divided, as_c(b));
  at::add_out(out, t, made.to(t.scalar_type()));
}

void add_product(at::Tensor &out, const at::Tensor &t, const Scalar &value, const at::Tensor &a, const at::Tensor &b) {
  at::addcmul_out(out, t, a, b, value);
}

template <class F>
void ternary(Tensor *r, Tensor *t, const Scalar &value, Tensor *a, Tensor *b, F f) {
  const at::Tensor x = view(t), y = in_shape_of(x, view(a), 4), z = in_shape_of(x, view(b), 5);
  into(r, x.sizes(), {x, y, z}, {}, [&](at::Tensor &out) { f(out, x, value, y, z); });
}

void interpolate(Tensor *r, Tensor *a, Tensor *b, const Scalar &weight) {
  const at::Tensor x = view(a), y = in_shape_of(x, view(b), 3);
  into(r, x.sizes(), {x, y}, {}, [&](at::Tensor &out) { at::lerp_out(out, x, y, weight); });
}

void power(Tensor *r, Tensor *t, const Scalar &exponent) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { at::pow_out(out, x, exponent); });
}

void power_of(Tensor *r, const Scalar &base, Tensor *t) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { at::pow_out(out, base, x); });
}

void derivative_of_digamma(Tensor *r, int64_t n, Tensor *t) {
  const at::Tensor x = view(t);
  into(r, x.sizes(), {x}, {}, [&](at::Tensor &out) { at::polygamma_out(out, n, x); });
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "pointwise.list"
#include "every_type.h"
