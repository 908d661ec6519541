/* Exact mathematics under unqualified names: exp(float) is float's, abs(-0.5f) is 0.5f, exp(half) is computed in float.
 *
 * Every function is a template over the floating types. A template wins over C's `double exp(double)` for a float (exact
 * match), and gives way to C's or std's own exact overload where the source includes <cmath> or <math.h>: the two never
 * clash, and both are exact. Functions of halves take their argument as float and return float.
 */
#ifndef OPWRIGHT_MATH_H
#define OPWRIGHT_MATH_H

#include "half.h"

namespace opwright {
namespace detail {

template <class T> struct floating {};
template <> struct floating<float> { using type = float; };
template <> struct floating<double> { using type = double; };
template <> struct floating<half> { using type = float; };
template <> struct floating<bfloat16> { using type = float; };
template <class T> using float_of = typename floating<T>::type;

template <class T> struct whole {};
template <> struct whole<signed char> { using type = int; };
template <> struct whole<short> { using type = int; };
template <> struct whole<int> { using type = int; };
template <> struct whole<long> { using type = long; };
template <> struct whole<long long> { using type = long long; };

/* The type that two arguments are computed in: the wider float; a whole number takes the other's type. */
struct integer {};
template <class T> struct number : floating<T> {};
template <> struct number<signed char> { using type = integer; };
template <> struct number<short> { using type = integer; };
template <> struct number<int> { using type = integer; };
template <> struct number<long> { using type = integer; };
template <> struct number<long long> { using type = integer; };
template <class A, class B> struct wider {};
template <class A> struct wider<A, A> { using type = A; };
template <> struct wider<integer, integer> {};
template <> struct wider<float, double> { using type = double; };
template <> struct wider<double, float> { using type = double; };
template <> struct wider<float, integer> { using type = float; };
template <> struct wider<double, integer> { using type = double; };
template <> struct wider<integer, float> { using type = float; };
template <> struct wider<integer, double> { using type = double; };
template <class A, class B>
using float_of_two = typename wider<typename number<A>::type, typename number<B>::type>::type;

}  // namespace detail

#define OPWRIGHT_UNARY(name)                                         \
  namespace detail {                                                 \
  inline float name##_(float x) { return __builtin_##name##f(x); }   \
  inline double name##_(double x) { return __builtin_##name(x); }    \
  }                                                                  \
  template <class T>                                                 \
  inline detail::float_of<T> name(T x) {                             \
    return detail::name##_(detail::float_of<T>(x));                  \
  }
#define OPWRIGHT_BINARY(name)                                                          \
  namespace detail {                                                                   \
  inline float name##_(float x, float y) { return __builtin_##name##f(x, y); }         \
  inline double name##_(double x, double y) { return __builtin_##name(x, y); }         \
  }                                                                                    \
  /* The empty pack makes std's templates the better match where a source brings them in. */ \
  template <class A, class B, class... None>                                           \
  inline detail::float_of_two<A, B> name(A x, B y, None...) {                          \
    using R = detail::float_of_two<A, B>;                                              \
    return detail::name##_(R(x), R(y));                                                \
  }

OPWRIGHT_UNARY(exp)
OPWRIGHT_UNARY(exp2)
OPWRIGHT_UNARY(expm1)
OPWRIGHT_UNARY(log)
OPWRIGHT_UNARY(log2)
OPWRIGHT_UNARY(log10)
OPWRIGHT_UNARY(log1p)
OPWRIGHT_UNARY(sqrt)
OPWRIGHT_UNARY(cbrt)
OPWRIGHT_UNARY(sin)
OPWRIGHT_UNARY(cos)
OPWRIGHT_UNARY(tan)
OPWRIGHT_UNARY(asin)
OPWRIGHT_UNARY(acos)
OPWRIGHT_UNARY(atan)
OPWRIGHT_UNARY(sinh)
OPWRIGHT_UNARY(cosh)
OPWRIGHT_UNARY(tanh)
OPWRIGHT_UNARY(asinh)
OPWRIGHT_UNARY(acosh)
OPWRIGHT_UNARY(atanh)
OPWRIGHT_UNARY(erf)
OPWRIGHT_UNARY(erfc)
OPWRIGHT_UNARY(lgamma)
OPWRIGHT_UNARY(tgamma)
OPWRIGHT_UNARY(floor)
OPWRIGHT_UNARY(ceil)
OPWRIGHT_UNARY(trunc)
OPWRIGHT_UNARY(round)
OPWRIGHT_UNARY(rint)
OPWRIGHT_UNARY(fabs)
OPWRIGHT_BINARY(pow)
OPWRIGHT_BINARY(fmod)
OPWRIGHT_BINARY(atan2)
OPWRIGHT_BINARY(hypot)
OPWRIGHT_BINARY(fmin)
OPWRIGHT_BINARY(fmax)
OPWRIGHT_BINARY(copysign)
#undef OPWRIGHT_UNARY
#undef OPWRIGHT_BINARY

template <class T>
inline detail::float_of<T> abs(T x) {
  return fabs(x);
}
template <class T>
inline typename detail::whole<T>::type abs(T x) {
  return x < 0 ? -x : x;
}
template <class T>
inline bool isnan(T x, detail::float_of<T> * = nullptr) {
  return __builtin_isnan(detail::float_of<T>(x));
}
template <class T>
inline bool isinf(T x, detail::float_of<T> * = nullptr) {
  return __builtin_isinf(detail::float_of<T>(x));
}
template <class T>
inline bool isfinite(T x, detail::float_of<T> * = nullptr) {
  return __builtin_isfinite(detail::float_of<T>(x));
}

/* The smaller and the larger of two numbers of one type, NaN if either is (as torch.minimum and torch.maximum). Two
 * template parameters, so that std::min is the better match where a source uses namespace std. */
template <class A, class B>
inline detail::float_of_two<A, B> min(const A &a, const B &b) {
  const detail::float_of_two<A, B> x = a, y = b;
  return x < y || x != x ? x : y;
}
template <class A, class B>
inline detail::float_of_two<A, B> max(const A &a, const B &b) {
  const detail::float_of_two<A, B> x = a, y = b;
  return x > y || x != x ? x : y;
}
template <class A>
inline typename detail::whole<A>::type min(const A &a, const typename detail::whole<A>::type &b) {
  return a < b ? a : b;
}
template <class A>
inline typename detail::whole<A>::type max(const A &a, const typename detail::whole<A>::type &b) {
  return a > b ? a : b;
}

/* What the standard library doesn't have, by PyTorch's names and definitions. */
template <class T>
inline detail::float_of<T> rsqrt(T x) {
  return 1 / sqrt(x);
}
template <class T>
inline detail::float_of<T> sigmoid(T x) {
  return 1 / (1 + exp(-detail::float_of<T>(x)));
}
template <class T>
inline detail::float_of<T> relu(T x) {
  const detail::float_of<T> v = x;
  return v < 0 ? 0 : v;
}
template <class T>
inline detail::float_of<T> elu(T x) {
  const detail::float_of<T> v = x;
  return v > 0 ? v : expm1(v);
}

}  // namespace opwright
#endif
