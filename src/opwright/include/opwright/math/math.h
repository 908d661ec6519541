/* Exact mathematics under unqualified names: exp(float) is float's, abs(-0.5f) is 0.5f, exp(half) is computed in
 * float.
 *
 * Every function is a template over the floating types. A template wins over C's `double exp(double)` for a float
 * (exact match), and gives way to C's or std's own exact overload where the source includes <cmath> or <math.h>: the
 * two never clash, and both are exact. It gives way to a function of the author's with its name, too (the empty pack
 * of floating.h). Functions of halves take their argument as float and return float.
 */
#ifndef OPWRIGHT_MATH_H
#define OPWRIGHT_MATH_H

#include "vector.h"

/* As CUDA sources have them without an include, in the C library's own words: its header may define them again. */
/* clang-format off */
#if !defined(INFINITY) && !defined(__CUDACC_RTC__)
#define INFINITY (__builtin_inff ())
#endif
#if !defined(NAN) && !defined(__CUDACC_RTC__)
#define NAN (__builtin_nanf (""))
#endif
/* clang-format on */

namespace opwright {

#define OPWRIGHT_FLOATING(name)                                                 \
  template <class T, class... None>                                             \
  OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> name(T x, None...) { \
    return detail::name##_(detail::float_of<T>(x));                             \
  }
#define OPWRIGHT_UNARY(name)                                                            \
  namespace detail {                                                                    \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x) { return __builtin_##name##f(x); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x) { return __builtin_##name(x); }  \
  }                                                                                     \
  OPWRIGHT_FLOATING(name)
#define OPWRIGHT_OF_TWO(name)                                                               \
  template <class A, class B, class... None>                                                \
  OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> name(A x, B y, None...) { \
    using R = detail::float_of_two<A, B>;                                                   \
    return detail::name##_(R(x), R(y));                                                     \
  }
#define OPWRIGHT_BINARY(name)                                                                       \
  namespace detail {                                                                                \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x, float y) { return __builtin_##name##f(x, y); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x, double y) { return __builtin_##name(x, y); } \
  }                                                                                                 \
  OPWRIGHT_OF_TWO(name)

OPWRIGHT_FLOATING(exp)
OPWRIGHT_FLOATING(exp2)
OPWRIGHT_FLOATING(expm1)
OPWRIGHT_FLOATING(log)
OPWRIGHT_FLOATING(log2)
OPWRIGHT_FLOATING(log10)
OPWRIGHT_FLOATING(log1p)
OPWRIGHT_UNARY(sqrt)
OPWRIGHT_FLOATING(cbrt)
OPWRIGHT_FLOATING(sin)
OPWRIGHT_FLOATING(cos)
OPWRIGHT_FLOATING(tan)
OPWRIGHT_FLOATING(asin)
OPWRIGHT_FLOATING(acos)
OPWRIGHT_FLOATING(atan)
OPWRIGHT_FLOATING(sinh)
OPWRIGHT_FLOATING(cosh)
OPWRIGHT_FLOATING(tanh)
OPWRIGHT_FLOATING(asinh)
OPWRIGHT_FLOATING(acosh)
OPWRIGHT_FLOATING(atanh)
OPWRIGHT_FLOATING(erf)
OPWRIGHT_FLOATING(erfc)
#ifdef OPWRIGHT_CUDA_COMPILER /* whose own for float are off by more than 4 ulp */
#define OPWRIGHT_IN_DOUBLE(name)                                                                    \
  namespace detail {                                                                                \
  OPWRIGHT_HOST_DEVICE inline float name##_(float x) { return float(__builtin_##name(double(x))); } \
  OPWRIGHT_HOST_DEVICE inline double name##_(double x) { return __builtin_##name(x); }              \
  }                                                                                                 \
  OPWRIGHT_FLOATING(name)
OPWRIGHT_IN_DOUBLE(lgamma)
OPWRIGHT_IN_DOUBLE(tgamma)
#undef OPWRIGHT_IN_DOUBLE
#else
OPWRIGHT_UNARY(lgamma)
OPWRIGHT_UNARY(tgamma)
#endif
OPWRIGHT_UNARY(floor)
OPWRIGHT_UNARY(ceil)
OPWRIGHT_UNARY(trunc)
OPWRIGHT_UNARY(rint)
OPWRIGHT_UNARY(nearbyint)
OPWRIGHT_UNARY(fabs)
OPWRIGHT_OF_TWO(pow)
OPWRIGHT_BINARY(fmod)
OPWRIGHT_OF_TWO(atan2)
OPWRIGHT_OF_TWO(hypot)
OPWRIGHT_BINARY(fmin)
OPWRIGHT_BINARY(fmax)
OPWRIGHT_BINARY(copysign)
#undef OPWRIGHT_UNARY
#undef OPWRIGHT_FLOATING
#undef OPWRIGHT_BINARY
#undef OPWRIGHT_OF_TWO

/* a * b + c, rounded once. */
template <class A, class B, class C, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_three<A, B, C, None...> fma(A a, B b, C c, None...) {
  using R = detail::float_of_three<A, B, C>;
  if constexpr (sizeof(R) == sizeof(float)) return __builtin_fmaf(R(a), R(b), R(c));
  else return __builtin_fma(R(a), R(b), R(c));
}

template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> abs(T x, None...) {
  return fabs(x);
}
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline typename detail::whole<T, None...>::type abs(T x, None...) {
  return x < 0 ? -x : x;
}
template <class T, class... None, class = detail::float_of<T, None...>>
OPWRIGHT_HOST_DEVICE inline bool isnan(T x, None...) {
  return __builtin_isnan(detail::float_of<T>(x));
}
template <class T, class... None, class = detail::float_of<T, None...>>
OPWRIGHT_HOST_DEVICE inline bool isinf(T x, None...) {
  return __builtin_isinf(detail::float_of<T>(x));
}
template <class T, class... None, class = detail::float_of<T, None...>>
OPWRIGHT_HOST_DEVICE inline bool isfinite(T x, None...) {
  return __builtin_isfinite(detail::float_of<T>(x));
}

/* The smaller and the larger of two numbers of one type, NaN if either is (as torch.minimum and torch.maximum). */
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> min(const A &a, const B &b, None...) {
  const detail::float_of_two<A, B> x = a, y = b, smaller = x < y ? x : y; /* two selections, no branch to mispredict */
  return x != x ? x : smaller;
}
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> max(const A &a, const B &b, None...) {
  const detail::float_of_two<A, B> x = a, y = b, larger = x > y ? x : y;
  return x != x ? x : larger;
}
template <class A>
OPWRIGHT_HOST_DEVICE inline typename detail::whole<A>::type min(const A &a, const typename detail::whole<A>::type &b) {
  return a < b ? a : b;
}
template <class A>
OPWRIGHT_HOST_DEVICE inline typename detail::whole<A>::type max(const A &a, const typename detail::whole<A>::type &b) {
  return a > b ? a : b;
}

/* What the standard library doesn't have, or means otherwise, by PyTorch's names and definitions. */

/* To the nearest whole number, halfway cases to the even one. C's own `round`, which a plain number gets where the
 * source includes <cmath>, goes away from zero there; `rint` is half to even everywhere. */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> round(T x, None...) {
  return rint(x);
}
/* sin(pi * x) / (pi * x) */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> sinc(T x, None...) {
  using R = detail::float_of<T>;
  const R u = R(x) * R(3.14159265358979323846), ratio = sin(u) / u;
  return u == 0 ? R(1) : ratio;
}
/* 1 - x * x and its opposite by factors, which are exact near 1; of -1 and 1, 0 without a sign. */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> one_minus_square(T x, None...) {
  using R = detail::float_of<T>;
  return (1 - R(x)) * (1 + R(x)) + 0;
}
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> square_minus_one(T x, None...) {
  using R = detail::float_of<T>;
  return (R(x) - 1) * (R(x) + 1) + 0;
}
/* -1, 0 or 1; 0 of NaN. */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> sign(T x, None...) {
  using R = detail::float_of<T>;
  const R v = x;
  return (v > 0 ? R(1) : R(0)) - (v < 0 ? R(1) : R(0));
}
template <class T, class... None, class = detail::float_of<T, None...>>
OPWRIGHT_HOST_DEVICE inline bool signbit(T x, None...) {
  return detail::sign_bit(x);
}
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> rsqrt(T x, None...) {
  return 1 / sqrt(x);
}
/* The exponential never overflows, and the tail on the left keeps its precision. */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> sigmoid(T x, None...) {
  using R = detail::float_of<T>;
  const R v = x, e = exp(-fabs(v));
  return (v < 0 ? e : R(1)) / (1 + e);
}
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> logsigmoid(T x, None...) {
  using R = detail::float_of<T>;
  const R v = x, tail = log1p(exp(-fabs(v)));
  return (v > 0 ? R(0) : v) - tail;
}
/* x - tanh(x), of floats in double: their difference near 0 is as small as x^3. */
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of<T, None...> tanhshrink(T x, None...) {
  const double v = detail::float_of<T>(x);
  return detail::float_of<T>(v - tanh(v));
}
/* log(exp(a) + exp(b)) */
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> logaddexp(A a, B b, None...) {
  using R = detail::float_of_two<A, B>;
  const R x = a, y = b, larger = x > y ? x : y, sum = larger + log1p(exp(-fabs(x - y)));
  const R result = x == y && isinf(x) ? x : sum;
  return x != x || y != y ? x + y : result;
}
/* x * log(y), and 0 where x is 0, whatever y is but NaN. */
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> xlogy(A a, B b, None...) {
  using R = detail::float_of_two<A, B>;
  const R x = a, y = b, product = x * log(y);
  return x == 0 && y == y ? R(0) : product;
}
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> xlog1py(A a, B b, None...) {
  using R = detail::float_of_two<A, B>;
  const R x = a, y = b, product = x * log1p(y);
  return x == 0 && y == y ? R(0) : product;
}
/* What is left of a after whole multiples of b, with b's sign, as torch.remainder and Python's %; `fmod` has a's. C's
 * own `remainder`, which plain numbers get where the source includes <cmath>, rounds the quotient to the nearest. */
template <class A, class B, class... None>
OPWRIGHT_HOST_DEVICE inline detail::float_of_two<A, B, None...> remainder(A a, B b, None...) {
  using R = detail::float_of_two<A, B>;
  const R left = fmod(R(a), R(b)), other = b;
  return left != 0 && (left < 0) != (other < 0) ? left + other : left;
}

}  // namespace opwright
#endif
