/* Operators of dual numbers, with each other and with plain numbers. */
#ifndef OPWRIGHT_DUAL_ARITHMETIC_H
#define OPWRIGHT_DUAL_ARITHMETIC_H

#include "dual_number.h"

namespace opwright {

#define OPWRIGHT_DUALS template <class S, int N>
#define OPWRIGHT_DUAL_AND_NUMBER template <class S, int N, class A, class = detail::if_number<A>>

OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator+(const Dual<S, N> &x) { return x; }
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator-(const Dual<S, N> &x) {
  Dual<S, N> result;
  result.value = -x.value;
  OPWRIGHT_EACH(result.partial[i] = -x.partial[i];)
  return result;
}

OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator+(const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = a.value + b.value;
  OPWRIGHT_EACH(result.partial[i] = a.partial[i] + b.partial[i];)
  return result;
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator-(const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = a.value - b.value;
  OPWRIGHT_EACH(result.partial[i] = a.partial[i] - b.partial[i];)
  return result;
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator*(const Dual<S, N> &a, const Dual<S, N> &b) {
  return detail::chain(a, b, S(a.value * b.value), b.value, a.value);
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator/(const Dual<S, N> &a, const Dual<S, N> &b) {
  const S quotient = a.value / b.value, inverse = detail::base<S>(1) / b.value;
  return detail::chain(a, b, quotient, inverse, S(-(quotient / b.value)));
}

/* With a plain number, which is rounded to the type at the bottom first. */
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator+(Dual<S, N> x, A number) {
  x.value = x.value + static_cast<detail::base<S>>(number);
  return x;
}
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator+(A number, const Dual<S, N> &x) { return x + number; }
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator-(Dual<S, N> x, A number) {
  x.value = x.value - static_cast<detail::base<S>>(number);
  return x;
}
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator-(A number, const Dual<S, N> &x) {
  Dual<S, N> result = -x;
  result.value = static_cast<detail::base<S>>(number) - x.value;
  return result;
}
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator*(const Dual<S, N> &x, A number) {
  const detail::base<S> factor = static_cast<detail::base<S>>(number);
  Dual<S, N> result;
  result.value = x.value * factor;
  OPWRIGHT_EACH(result.partial[i] = detail::scaled(factor, x.partial[i]);)
  return result;
}
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator*(A number, const Dual<S, N> &x) { return x * number; }
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator/(const Dual<S, N> &x, A number) {
  const detail::base<S> divisor = static_cast<detail::base<S>>(number);
  const detail::base<S> inverse = 1 / divisor;
  Dual<S, N> result;
  result.value = x.value / divisor;
  OPWRIGHT_EACH(result.partial[i] = detail::scaled(inverse, x.partial[i]);)
  return result;
}
OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> operator/(A number, const Dual<S, N> &x) {
  const S quotient = static_cast<detail::base<S>>(number) / x.value;
  return detail::chain(x, quotient, S(-(quotient / x.value)));
}

#define OPWRIGHT_COMPOUND(op)                                                                        \
  OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> &operator op## = (Dual<S, N> & a, const Dual<S, N> &b) { \
    return a = a op b;                                                                               \
  }                                                                                                  \
  OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE Dual<S, N> &operator op## = (Dual<S, N> & a, A b) { return a = a op b; }
OPWRIGHT_COMPOUND(+)
OPWRIGHT_COMPOUND(-)
OPWRIGHT_COMPOUND(*)
OPWRIGHT_COMPOUND(/)
#undef OPWRIGHT_COMPOUND

#define OPWRIGHT_COMPARISON(op)                                                                           \
  OPWRIGHT_DUALS OPWRIGHT_INLINE detail::truth<S> operator op(const Dual<S, N> &a, const Dual<S, N> &b) { \
    return a.value op b.value;                                                                            \
  }                                                                                                       \
  OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE detail::truth<S> operator op(const Dual<S, N> &a, A b) {       \
    return a.value op static_cast<detail::base<S>>(b);                                                    \
  }                                                                                                       \
  OPWRIGHT_DUAL_AND_NUMBER OPWRIGHT_INLINE detail::truth<S> operator op(A a, const Dual<S, N> &b) {       \
    return static_cast<detail::base<S>>(a) op b.value;                                                    \
  }
OPWRIGHT_COMPARISON(<)
OPWRIGHT_COMPARISON(<=)
OPWRIGHT_COMPARISON(>)
OPWRIGHT_COMPARISON(>=)
OPWRIGHT_COMPARISON(==)
OPWRIGHT_COMPARISON(!=)
#undef OPWRIGHT_COMPARISON

OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> &operator++(Dual<S, N> &x) { return x += 1; }
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> &operator--(Dual<S, N> &x) { return x -= 1; }
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator++(Dual<S, N> &x, int) {
  const Dual<S, N> before = x;
  return x += 1, before;
}
OPWRIGHT_DUALS OPWRIGHT_INLINE Dual<S, N> operator--(Dual<S, N> &x, int) {
  const Dual<S, N> before = x;
  return x -= 1, before;
}

#undef OPWRIGHT_DUALS
#undef OPWRIGHT_DUAL_AND_NUMBER

}  // namespace opwright
#endif
