/* Dual numbers: choosing between numbers, asking about them, and parts with derivatives of one's own. */
#ifndef OPWRIGHT_DUAL_SELECT_H
#define OPWRIGHT_DUAL_SELECT_H

#include "dual_math.h"

namespace opwright {
namespace detail {

/* The partials of the smaller (or larger) of two: where they are equal each has half, where one is NaN both have all,
 * as the derivatives of torch.minimum and torch.maximum. */
template <class S>
OPWRIGHT_INLINE S split(bool without_a, bool without_b, bool equal, const S &a, const S &b) {
  const S sum = select(without_a, S(0), a) + select(without_b, S(0), b);
  return select(equal, S(sum * 0.5), sum);
}

}  // namespace detail

/* Two dual numbers have an overload of their own, which is a better match than std::min where a source uses namespace
 * std. */
#define OPWRIGHT_EXTREMUM(name, op, opposite)                                                             \
  template <class S, int N>                                                                               \
  OPWRIGHT_INLINE Dual<S, N> name(const Dual<S, N> &a, const Dual<S, N> &b) {                             \
    Dual<S, N> result = a;                                                                                \
    result.value = name(a.value, b.value);                                                                \
    const bool first = a.value op b.value, second = a.value opposite b.value, equal = a.value == b.value; \
    OPWRIGHT_EACH(result.partial[i] = detail::split(second, first, equal, a.partial[i], b.partial[i]);)   \
    return result;                                                                                        \
  }                                                                                                       \
  template <class A, class B, class... None, class R = detail::dual_of_two<A, B, None...>>                \
  OPWRIGHT_INLINE R name(const A &a, const B &b, None...) {                                               \
    return name(R(a), R(b));                                                                              \
  }
OPWRIGHT_EXTREMUM(min, <, >)
OPWRIGHT_EXTREMUM(max, >, <)
#undef OPWRIGHT_EXTREMUM

#define OPWRIGHT_OF_DUALS(name)                                                            \
  template <class A, class B, class... None, class R = detail::dual_of_two<A, B, None...>> \
  OPWRIGHT_INLINE R name(const A &one, const B &other, None...)
/* Of two of which one is NaN the other; of two that are equal the first, with its derivative. */
OPWRIGHT_OF_DUALS(fmin) {
  const R a = one, b = other;
  return detail::select(a <= b || b != b, a, b);
}
OPWRIGHT_OF_DUALS(fmax) {
  const R a = one, b = other;
  return detail::select(a >= b || b != b, a, b);
}
/* The derivative is that of the first, with the sign changed if it is; none at zero, nor by the second. */
OPWRIGHT_OF_DUALS(copysign) {
  const detail::base<R> plus = 1, size = value_of(R(one)), sign = value_of(R(other));
  const R result = R(one) * (copysign(plus, size) * copysign(plus, sign));
  return detail::select(size == 0, R(value_of(result)), result);
}
#undef OPWRIGHT_OF_DUALS

#define OPWRIGHT_QUESTION(name)                                                 \
  template <class T, class... None, class R = detail::dual_of<T, None...>>      \
  OPWRIGHT_INLINE detail::truth<typename R::Scalar> name(const T &x, None...) { \
    return name(x.value);                                                       \
  }
OPWRIGHT_QUESTION(isnan)
OPWRIGHT_QUESTION(isinf)
OPWRIGHT_QUESTION(isfinite)
OPWRIGHT_QUESTION(signbit)
#undef OPWRIGHT_QUESTION

/* a * b + c, the value rounded once. */
template <class A, class B, class C, class... None, class R = detail::dual_of_three<A, B, C, None...>>
OPWRIGHT_INLINE R fma(const A &a, const B &b, const C &c, None...) {
  const R x = a, y = b, z = c;
  R result = x * y + z;
  result.value = fma(x.value, y.value, z.value);
  return result;
}

template <class A, class B, class... None, class R = detail::dual_of_two<A, B, None...>>
OPWRIGHT_INLINE R where(bool condition, const A &a, const B &b, None...) {
  return detail::select(condition, R(a), R(b));
}
/* As min and max, better than std::clamp. */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> clamp(const Dual<S, N> &x, const Dual<S, N> &low, const Dual<S, N> &high) {
  return detail::clamped(x, low, high);
}

/* x without its derivatives: what follows takes it for a constant. */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> stop_gradient(const Dual<S, N> &x) {
  return Dual<S, N>(value_of(x));
}

/* `value` with the derivative `slope` by x. The slope may depend on x: its derivative is the second one. That of
 * `value` is left out. What depends on several variables is a sum: custom_derivative(x, value, by_x) +
 * custom_derivative(y, 0, by_y). */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> custom_derivative(const Dual<S, N> &x, const detail::same<Dual<S, N>> &value,
                                             const detail::same<Dual<S, N>> &slope) {
  return detail::chain(x, S(custom_derivative(x.value, value.value, slope.value)), slope.value);
}
/* The value of one expression with the derivatives of another: straight_through(round(x), x). */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> straight_through(const detail::same<Dual<S, N>> &value, const Dual<S, N> &derivatives) {
  Dual<S, N> result = derivatives;
  result.value = straight_through(value.value, derivatives.value);
  return result;
}

}  // namespace opwright
#endif
