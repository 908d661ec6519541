/* Dual<S, N>: a number with N derivatives, for functions that are differentiated by being run.
 *
 * `value` is the number, `partial[i]` its derivative by the i-th variable; S is float, double, or a Dual for the
 * second order. A plain number is a constant: it converts without being asked, and is rounded to the type at the
 * bottom, so `0.5 * x` of a float is computed in float. Nothing converts back, which would lose the derivative, but to
 * whole numbers when asked (`int(x)`, whose derivative is zero); `value_of(x)` is the plain value. Comparisons compare
 * values.
 *
 * A partial of exactly zero stays zero, whatever it is multiplied by. That is how variables that have no part in a
 * function stay out of it: the derivative of `x + sqrt(y)` by x is 1 at y = 0, as in PyTorch, where 0 * inf would make
 * it NaN. And the compiler drops products with a zero that it knows.
 */
#ifndef OPWRIGHT_DUAL_NUMBER_H
#define OPWRIGHT_DUAL_NUMBER_H

#include "../elements/floating.h"

/* For each partial i of N. Written out for as many as there usually are: a loop, be it over a single one, gcc may leave in
 * place, and a loop around loops isn't vectorised. */
#define OPWRIGHT_EACH(...)      \
  if constexpr (N > 0) {        \
    constexpr int i = 0;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 1) {        \
    constexpr int i = 1;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 2) {        \
    constexpr int i = 2;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 3) {        \
    constexpr int i = 3;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 4) {        \
    constexpr int i = 4;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 5) {        \
    constexpr int i = 5;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 6) {        \
    constexpr int i = 6;        \
    __VA_ARGS__                 \
  }                             \
  if constexpr (N > 7) {        \
    constexpr int i = 7;        \
    __VA_ARGS__                 \
  }                             \
  for (int i = 8; i < N; ++i) { \
    __VA_ARGS__                 \
  }

namespace opwright {
namespace detail {

template <class T> struct is_floating { static constexpr bool value = false; };
template <> struct is_floating<float> { static constexpr bool value = true; };
template <> struct is_floating<double> { static constexpr bool value = true; };
template <> struct is_floating<long double> { static constexpr bool value = true; };
template <> struct is_floating<float16> { static constexpr bool value = true; };
template <> struct is_floating<bfloat16> { static constexpr bool value = true; };

}  // namespace detail

/* In the place of N: the derivatives are noted on a tape (tape.h). */
constexpr int taped = -1;

template <class S, int N>
struct Dual {
  using Scalar = S;
  static constexpr int partials = N;

  S value;
#ifdef __CUDACC_RTC__ /* which has no arrays of none */
  S partial[N > 0 ? N : 1];
#else
  S partial[N]; /* of none it takes no room */
#endif

  Dual() = default;
  template <class A, class = detail::if_number<A>>
  OPWRIGHT_INLINE Dual(A number) : value(static_cast<detail::base<S>>(number)) {
    OPWRIGHT_EACH(partial[i] = S(0);)
  }
  template <class W, class = detail::if_number<W>>
  explicit OPWRIGHT_INLINE operator W() const {
    static_assert(!detail::is_floating<W>::value,
                  "this conversion would lose the derivative: "
                  "write T(x) for the number itself, value_of(x) for its value");
    return static_cast<W>(value);
  }
};

/* The plain number in x, without its derivatives. */
template <class S, int N>
OPWRIGHT_INLINE detail::base<S> value_of(const Dual<S, N> &x) {
  return value_of(x.value);
}

namespace detail {

template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> select(bool first, const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = select(first, a.value, b.value);
  OPWRIGHT_EACH(result.partial[i] = select(first, a.partial[i], b.partial[i]);)
  return result;
}

/* Factor times partial: zero where the partial is zero. */
template <class T, class = if_number<T>>
OPWRIGHT_INLINE T times(T factor, T partial) {
  const T product = factor * partial;
  return partial == 0 ? T(0) : product;
}
/* The product of two partials. */
template <class T, class = if_number<T>>
OPWRIGHT_INLINE T cross(T a, T b) {
  const T product = times(a, b);
  return a == 0 ? T(0) : product;
}
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> cross(const Dual<S, N> &a, const Dual<S, N> &b) {
  Dual<S, N> result;
  result.value = cross(a.value, b.value);
  OPWRIGHT_EACH(result.partial[i] = cross(a.value, b.partial[i]) + cross(a.partial[i], b.value);)
  return result;
}
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> times(const Dual<S, N> &factor, const Dual<S, N> &partial) {
  Dual<S, N> result;
  result.value = times(factor.value, partial.value);
  OPWRIGHT_EACH(result.partial[i] = times(factor.value, partial.partial[i]) + cross(factor.partial[i], partial.value);)
  return result;
}

/* The same for a plain factor. */
template <class T, class = if_number<T>>
OPWRIGHT_INLINE T scaled(T factor, T partial) {
  return times(factor, partial);
}
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> scaled(base<S> factor, const Dual<S, N> &partial) {
  Dual<S, N> result;
  result.value = scaled(factor, partial.value);
  OPWRIGHT_EACH(result.partial[i] = scaled(factor, partial.partial[i]);)
  return result;
}

/* The chain rule: a function's value with its slope by x, or by a and b. */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> chain(const Dual<S, N> &x, const S &value, const S &slope) {
  Dual<S, N> result;
  result.value = value;
  OPWRIGHT_EACH(result.partial[i] = times(slope, x.partial[i]);)
  return result;
}
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> chain(const Dual<S, N> &a, const Dual<S, N> &b, const S &value, const S &slope_a,
                                 const S &slope_b) {
  Dual<S, N> result;
  result.value = value;
  OPWRIGHT_EACH(result.partial[i] = times(slope_a, a.partial[i]) + times(slope_b, b.partial[i]);)
  return result;
}

/* The same for numbers on a tape, of which tape.h has the definitions, and for lanes of them (lanes.h). */
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &x, const S &value, const S &slope);
template <class S>
OPWRIGHT_INLINE Dual<S, taped> chain(const Dual<S, taped> &a, const Dual<S, taped> &b, const S &value, const S &slope_a,
                                     const S &slope_b);
template <class S>
OPWRIGHT_INLINE Dual<S, taped> select(bool first, const Dual<S, taped> &a, const Dual<S, taped> &b);
template <class R, int W> struct Mask;
template <class R, int W> struct Lanes;
template <class R, int W>
OPWRIGHT_INLINE Lanes<R, W> select(const Mask<R, W> &first, const Lanes<R, W> &a, const Lanes<R, W> &b);
template <class R, int W>
OPWRIGHT_INLINE Lanes<R, W> select(bool first, const Lanes<R, W> &a, const Lanes<R, W> &b);
template <class R, int W>
OPWRIGHT_INLINE Dual<Lanes<R, W>, taped> select(const Mask<R, W> &first, const Dual<Lanes<R, W>, taped> &a,
                                                const Dual<Lanes<R, W>, taped> &b);

}  // namespace detail
}  // namespace opwright

#include "dual_arithmetic.h"
#endif
