/* Dual numbers: choosing between numbers, asking about them, and parts with derivatives of one's own. */
#ifndef OPWRIGHT_DUAL_SELECT_H
#define OPWRIGHT_DUAL_SELECT_H

#include "dual_math.h"

namespace opwright {
namespace detail {

/* The partials of the smaller (or larger) of two: where they are equal each has half, where one is NaN both have all, as
 * the derivatives of torch.minimum and torch.maximum. */
template <class S>
OPWRIGHT_INLINE S split(bool without_a, bool without_b, bool equal, const S &a, const S &b) {
  const S sum = select(without_a, S(0), a) + select(without_b, S(0), b);
  return select(equal, S(sum * 0.5), sum);
}

}  // namespace detail

#define OPWRIGHT_DUALS template <class S, int N>
#define OPWRIGHT_WITH_NUMBER(name)                                                       \
  template <class S, int N, class A, class = detail::if_number<A>>                       \
  OPWRIGHT_INLINE Dual<S, N> name(const Dual<S, N> &a, A b) {                            \
    return name(a, Dual<S, N>(b));                                                       \
  }                                                                                      \
  template <class S, int N, class A, class = detail::if_number<A>>                       \
  OPWRIGHT_INLINE Dual<S, N> name(A a, const Dual<S, N> &b) {                            \
    return name(Dual<S, N>(a), b);                                                       \
  }

OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> min(const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = min(a.value, b.value);
  for (int i = 0; i < N; ++i)
    result.partial[i] = detail::split(a.value > b.value, a.value < b.value, a.value == b.value, a.partial[i], b.partial[i]);
  return result;
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> max(const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = max(a.value, b.value);
  for (int i = 0; i < N; ++i)
    result.partial[i] = detail::split(a.value < b.value, a.value > b.value, a.value == b.value, a.partial[i], b.partial[i]);
  return result;
}
/* Of two of which one is NaN the other; of two that are equal the first, with its derivative. */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> fmin(const Dual<S, N> &a, const Dual<S, N> &b) {
  return detail::select(a <= b || b != b, a, b);
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> fmax(const Dual<S, N> &a, const Dual<S, N> &b) {
  return detail::select(a >= b || b != b, a, b);
}
/* The derivative is that of `magnitude`, with the sign changed if it is; none at zero, nor by `sign`. */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> copysign(const Dual<S, N> &magnitude, const Dual<S, N> &sign) {
  const detail::base<S> one = 1, size = value_of(magnitude), same = copysign(one, size) * copysign(one, value_of(sign));
  const Dual<S, N> result = magnitude * same;
  return detail::select(size == 0, Dual<S, N>(value_of(result)), result);
}
OPWRIGHT_WITH_NUMBER(min)
OPWRIGHT_WITH_NUMBER(max)
OPWRIGHT_WITH_NUMBER(fmin)
OPWRIGHT_WITH_NUMBER(fmax)
OPWRIGHT_WITH_NUMBER(copysign)
#undef OPWRIGHT_WITH_NUMBER

OPWRIGHT_DUALS OPWRIGHT_INLINE bool isnan(const Dual<S, N> &x) { return isnan(x.value); }
OPWRIGHT_DUALS OPWRIGHT_INLINE bool isinf(const Dual<S, N> &x) { return isinf(x.value); }
OPWRIGHT_DUALS OPWRIGHT_INLINE bool isfinite(const Dual<S, N> &x) { return isfinite(x.value); }
OPWRIGHT_DUALS OPWRIGHT_INLINE bool signbit(const Dual<S, N> &x) { return signbit(x.value); }

/* a * b + c, the value rounded once. */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> fma(const Dual<S, N> &a, const Dual<S, N> &b, const Dual<S, N> &c) {
  Dual<S, N> result = a * b + c;
  result.value = fma(a.value, b.value, c.value);
  return result;
}
template <class A, class B, class C, class R = detail::dual_of<A, B, C>>
OPWRIGHT_INLINE R fma(const A &a, const B &b, const C &c) {
  return fma(R(a), R(b), R(c));
}

OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> where(bool condition, const Dual<S, N> &a, const Dual<S, N> &b) {
  return detail::select(condition, a, b);
}
template <class A, class B, class R = detail::dual_of<A, B>>
OPWRIGHT_INLINE R where(bool condition, const A &a, const B &b) {
  return detail::select(condition, R(a), R(b));
}

/* x without its derivatives: what follows takes it for a constant. */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> stop_gradient(const Dual<S, N> &x) { return Dual<S, N>(value_of(x)); }

/* `value` with the derivative `slope` by x. The slope may depend on x: its derivative is the second one. That of `value`
 * is left out. What depends on several variables is a sum: custom_derivative(x, value, by_x) + custom_derivative(y, 0, by_y). */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> custom_derivative(const Dual<S, N> &x, const detail::same<Dual<S, N>> &value,
                                                            const detail::same<Dual<S, N>> &slope) {
  return detail::chain(x, S(custom_derivative(x.value, value.value, slope.value)), slope.value);
}
/* The value of one expression with the derivatives of another: straight_through(round(x), x). */
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> straight_through(const detail::same<Dual<S, N>> &value,
                                                           const Dual<S, N> &derivatives) {
  Dual<S, N> result = derivatives;
  result.value = straight_through(value.value, derivatives.value);
  return result;
}
#undef OPWRIGHT_DUALS

}  // namespace opwright
#endif
