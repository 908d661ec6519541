/* The derivatives of the functions in math.h and special.h.
 *
 * Each is a function's slope, written with x, the number, and y, the function's value there. x and y may be dual
 * numbers themselves, so a slope must be made of functions that have derivatives; what it needs again is common to the
 * compiler, too.
 */
#ifndef OPWRIGHT_DUAL_MATH_H
#define OPWRIGHT_DUAL_MATH_H

#include "../math/activations.h"
#include "dual_number.h"
#include "../math/math.h"
#include "../math/special.h"

namespace opwright {

namespace detail {

/* (cos(u) - sin(u) / u) / x with u = pi * x; up to 1 by its series, where the difference has no digits left. */
template <class S>
OPWRIGHT_INLINE S sinc_slope(const S &x, const S &y) {
  using B = base<S>;
  const S u = x * B(3.14159265358979323846), z = u * u, difference = (cos(u) - y) / x;
  S series = B(-18. / 121645100408832000.); /* (-1)^n 2n / (2n + 1)! */
  constexpr double terms[] = {16. / 355687428096000., -14. / 1307674368000., 12. / 6227020800., -10. / 39916800.,
                              8. / 362880.,           -6. / 5040.,           4. / 120.,         -2. / 6.};
  for (const double term : terms) series = series * z + B(term);
  return select(z < 1, S(series * u * B(3.14159265358979323846)), difference);
}

template <class S>
OPWRIGHT_INLINE S over_norm(const S &x, const S &norm) {
  const S ratio = x / norm;
  return select(norm == 0, S(0), ratio);
}
/* How many times b was taken from a to leave `rest`. */
template <class B>
OPWRIGHT_INLINE B multiples(B a, B b, B rest) {
  const B whole = rint((a - rest) / b), without_end = rest == a ? B(0) : B(-1);
  return isnan(rest) ? floor(a / b) : isinf(b) ? without_end : whole;
}

}  // namespace detail

#define OPWRIGHT_SLOPE(name, slope)                                        \
  template <class T, class... None, class R = detail::dual_of<T, None...>> \
  OPWRIGHT_INLINE R name(const T &number, None...) {                       \
    using S = typename R::Scalar;                                          \
    using B = detail::base<S>;                                             \
    const S x = number.value, y = name(x);                                 \
    (void)x, (void)sizeof(B);                                              \
    return detail::chain(number, y, S(slope));                             \
  }

/* A slope may use a function that is defined further down: dual numbers' functions are found by their argument when the
 * slope is instantiated. */
OPWRIGHT_SLOPE(exp, y)
OPWRIGHT_SLOPE(exp2, y *B(0.69314718055994530942))
OPWRIGHT_SLOPE(expm1, exp(x))
OPWRIGHT_SLOPE(log, B(1) / x)
OPWRIGHT_SLOPE(log2, B(1) / (x * B(0.69314718055994530942)))
OPWRIGHT_SLOPE(log10, B(1) / (x * B(2.30258509299404568402)))
OPWRIGHT_SLOPE(log1p, B(1) / (x + B(1)))
OPWRIGHT_SLOPE(sqrt, B(0.5) / y)
OPWRIGHT_SLOPE(rsqrt, B(-0.5) * y * y * y)
OPWRIGHT_SLOPE(cbrt, B(1) / (B(3) * y * y))
OPWRIGHT_SLOPE(sin, cos(x))
OPWRIGHT_SLOPE(cos, -sin(x))
OPWRIGHT_SLOPE(tan, y *y + B(1))
OPWRIGHT_SLOPE(asin, rsqrt(one_minus_square(x)))
OPWRIGHT_SLOPE(acos, -rsqrt(one_minus_square(x)))
OPWRIGHT_SLOPE(atan, B(1) / (x * x + B(1)))
OPWRIGHT_SLOPE(sinh, cosh(x))
OPWRIGHT_SLOPE(cosh, sinh(x))
OPWRIGHT_SLOPE(tanh, one_minus_square(y))
OPWRIGHT_SLOPE(asinh, rsqrt(x *x + B(1)))
OPWRIGHT_SLOPE(acosh, rsqrt(square_minus_one(x)))
OPWRIGHT_SLOPE(atanh, B(1) / one_minus_square(x))
OPWRIGHT_SLOPE(erf, B(1.12837916709551257390) * exp(-(x * x)))
OPWRIGHT_SLOPE(erfc, B(-1.12837916709551257390) * exp(-(x * x)))
OPWRIGHT_SLOPE(erfinv, B(0.88622692545275801365) * exp(y * y))
OPWRIGHT_SLOPE(tgamma, y *digamma(x))
OPWRIGHT_SLOPE(lgamma, digamma(x))
OPWRIGHT_SLOPE(digamma, trigamma(x))
OPWRIGHT_SLOPE(trigamma, tetragamma(x))
OPWRIGHT_SLOPE(tetragamma, pentagamma(x))
OPWRIGHT_SLOPE(sigmoid, y *sigmoid(-x))
OPWRIGHT_SLOPE(logsigmoid, sigmoid(-x))
OPWRIGHT_SLOPE(tanhshrink, square(tanh(x)))
OPWRIGHT_SLOPE(one_minus_square, B(-2) * x)
OPWRIGHT_SLOPE(square_minus_one, B(2) * x)
OPWRIGHT_SLOPE(sinc, detail::sinc_slope(x, y))
OPWRIGHT_SLOPE(fabs, sign(x))
OPWRIGHT_SLOPE(abs, sign(x))
#undef OPWRIGHT_SLOPE

/* Steps: no derivative, whatever that of the number is. */
#define OPWRIGHT_STEP(name)                                                \
  template <class T, class... None, class R = detail::dual_of<T, None...>> \
  OPWRIGHT_INLINE R name(const T &x, None...) {                            \
    R result = 0;                                                          \
    result.value = name(x.value);                                          \
    return result;                                                         \
  }
OPWRIGHT_STEP(floor)
OPWRIGHT_STEP(ceil)
OPWRIGHT_STEP(trunc)
OPWRIGHT_STEP(round)
OPWRIGHT_STEP(rint)
OPWRIGHT_STEP(nearbyint)
OPWRIGHT_STEP(sign)
#undef OPWRIGHT_STEP

/* Functions of two numbers: slopes by a and b, with the value y. One of the two may be a plain number. */
#define OPWRIGHT_SLOPES(name, slope_a, slope_b)                                            \
  template <class T, class U, class... None, class R = detail::dual_of_two<T, U, None...>> \
  OPWRIGHT_INLINE R name(const T &one, const U &other, None...) {                          \
    using S = typename R::Scalar;                                                          \
    using B = detail::base<S>;                                                             \
    const R first = one, second = other;                                                   \
    const S a = first.value, b = second.value, y = name(a, b);                             \
    (void)sizeof(B);                                                                       \
    return detail::chain(first, second, y, S(slope_a), S(slope_b));                        \
  }

OPWRIGHT_SLOPES(pow, detail::select(b == 0, S(0), S(b *pow(a, b - B(1)))),
                detail::select(a == 0 && b >= 0, S(0), S(y *log(a))))
OPWRIGHT_SLOPES(atan2, detail::over_norm(b, a *a + b * b), detail::over_norm(S(-a), a *a + b * b))
OPWRIGHT_SLOPES(hypot, a / y, b / y)
OPWRIGHT_SLOPES(fmod, B(1), -detail::multiples(value_of(a), value_of(b), value_of(y)))
OPWRIGHT_SLOPES(remainder, B(1), -detail::multiples(value_of(a), value_of(b), value_of(y)))
OPWRIGHT_SLOPES(logaddexp, sigmoid(a - b), sigmoid(b - a))
OPWRIGHT_SLOPES(xlogy, detail::select(a == 0 && b <= 0, S(0), S(log(b))), a / b)
OPWRIGHT_SLOPES(xlog1py, detail::select(a == 0 && b <= -1, S(0), S(log1p(b))), a / (b + B(1)))
#undef OPWRIGHT_SLOPES

}  // namespace opwright
#endif
