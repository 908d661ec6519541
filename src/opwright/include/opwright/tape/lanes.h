/* Lanes<R, W>: W numbers at once, one of each of as many rows of a `batched` operator, for the tape of all of them.
 *
 * Arithmetic and functions work lane by lane. A comparison gives a Mask, of which `where`, `max`, `min`, `clamp` and `abs` take
 * from each lane its own. What has to be the same for all, a bool that decides on a branch or a whole number, is the first
 * lane's: where others disagree, `disagreed` says so, and the rows are computed again, one at a time. Until then the kernel runs
 * as for the first row, which is what it may do: nothing is thrown through functions that are noexcept, or that catch.
 */
#ifndef OPWRIGHT_LANES_H
#define OPWRIGHT_LANES_H

#include "../math/activations.h"
#include "../math/math.h"
#include "../math/special.h"
#include "tape.h"

namespace opwright {
namespace detail {

static thread_local bool disagreed = false;
/* The runner doesn't see what a thread of the kernel's own has: that counts as a number without a tape, so that the rows are computed
 * again all the same. */
static inline void disagree() {
  disagreed = true;
  if (!current_tape) count_stray();
}

template <class R> struct bits_of;
template <> struct bits_of<float> { using type = int32_t; };
template <> struct bits_of<double> { using type = int64_t; };

template <class R, int W>
struct Mask {
  using Bits = typename bits_of<R>::type;
  typedef Bits Vector __attribute__((vector_size(W * sizeof(Bits))));
  Vector v; /* -1 where it holds, else 0 */

  OPWRIGHT_INLINE operator bool() const {
    Bits any = 0, all = -1;
    for (int k = 0; k < W; ++k) any |= v[k], all &= v[k];
    if (any != all) disagree();
    return v[0] != 0;
  }
};

template <class R, int W>
struct Lanes {
  typedef R Vector __attribute__((vector_size(W * sizeof(R))));
  typedef Vector Stored __attribute__((aligned(16))); /* beside an index, 64 bytes of it would be padding */
  Stored v;

  Lanes() = default;
  OPWRIGHT_INLINE Lanes(const Vector &numbers) : v(numbers) {}
  template <class A, class = if_number<A>>
  OPWRIGHT_INLINE Lanes(A number) : v(static_cast<R>(number) - Vector{}) {}

  /* The number that all lanes are. */
  OPWRIGHT_INLINE R same() const {
    for (int k = 1; k < W; ++k)
      if (!(v[k] == v[0])) disagree();
    return v[0];
  }
  template <class N, class = if_number<N>>
  explicit OPWRIGHT_INLINE operator N() const {
    const N first = static_cast<N>(v[0]);
    for (int k = 1; k < W; ++k)
      if (!(static_cast<N>(v[k]) == first)) disagree();
    return first;
  }
};

template <class R, int W> struct bottom<Lanes<R, W>> { using type = R; };
template <class R, int W> struct comparison<Lanes<R, W>> { using type = Mask<R, W>; };

#define OPWRIGHT_LANES template <class R, int W> OPWRIGHT_INLINE
#define OPWRIGHT_LANES_AND_NUMBER template <class R, int W, class A, class = if_number<A>> OPWRIGHT_INLINE

OPWRIGHT_LANES Lanes<R, W> operator-(const Lanes<R, W> &x) { return Lanes<R, W>(-x.v); }
#define OPWRIGHT_OPERATOR(op)                                                          \
  OPWRIGHT_LANES Lanes<R, W> operator op(const Lanes<R, W> &a, const Lanes<R, W> &b) { \
    return Lanes<R, W>(a.v op b.v);                                                    \
  }                                                                                    \
  OPWRIGHT_LANES_AND_NUMBER Lanes<R, W> operator op(const Lanes<R, W> &a, A b) {       \
    return Lanes<R, W>(a.v op static_cast<R>(b));                                      \
  }                                                                                    \
  OPWRIGHT_LANES_AND_NUMBER Lanes<R, W> operator op(A a, const Lanes<R, W> &b) {       \
    return Lanes<R, W>(static_cast<R>(a) op b.v);                                      \
  }
OPWRIGHT_OPERATOR(+)
OPWRIGHT_OPERATOR(-)
OPWRIGHT_OPERATOR(*)
OPWRIGHT_OPERATOR(/)
#undef OPWRIGHT_OPERATOR
#define OPWRIGHT_COMPARISON(op)                                                                                     \
  OPWRIGHT_LANES Mask<R, W> operator op(const Lanes<R, W> &a, const Lanes<R, W> &b) { return {a.v op b.v}; }        \
  OPWRIGHT_LANES_AND_NUMBER Mask<R, W> operator op(const Lanes<R, W> &a, A b) { return {a.v op Lanes<R, W>(b).v}; } \
  OPWRIGHT_LANES_AND_NUMBER Mask<R, W> operator op(A a, const Lanes<R, W> &b) { return {Lanes<R, W>(a).v op b.v}; }
OPWRIGHT_COMPARISON(<)
OPWRIGHT_COMPARISON(<=)
OPWRIGHT_COMPARISON(>)
OPWRIGHT_COMPARISON(>=)
OPWRIGHT_COMPARISON(==)
OPWRIGHT_COMPARISON(!=)
#undef OPWRIGHT_COMPARISON
OPWRIGHT_LANES Mask<R, W> operator&&(const Mask<R, W> &a, const Mask<R, W> &b) { return {a.v & b.v}; }
OPWRIGHT_LANES Mask<R, W> operator||(const Mask<R, W> &a, const Mask<R, W> &b) { return {a.v | b.v}; }
OPWRIGHT_LANES Mask<R, W> operator!(const Mask<R, W> &a) { return {~a.v}; }

OPWRIGHT_LANES Lanes<R, W> select(const Mask<R, W> &first, const Lanes<R, W> &a, const Lanes<R, W> &b) {
  return Lanes<R, W>(first.v ? a.v : b.v);
}
OPWRIGHT_LANES Lanes<R, W> select(bool first, const Lanes<R, W> &a, const Lanes<R, W> &b) { return first ? a : b; }
OPWRIGHT_LANES Dual<Lanes<R, W>, taped> select(const Mask<R, W> &first, const Dual<Lanes<R, W>, taped> &a,
                                               const Dual<Lanes<R, W>, taped> &b) {
  using S = Lanes<R, W>;
  const S zero = 0, one = 1;
  return chain(a, b, select(first, a.value, b.value), select(first, one, zero), select(first, zero, one));
}

OPWRIGHT_LANES Lanes<R, W> times(const Lanes<R, W> &factor, const Lanes<R, W> &partial) {
  return select(partial == 0, Lanes<R, W>(0), factor * partial);
}

/* Of each lane what the function of one number gives; a loop that the compiler vectorises where it can. */
#define OPWRIGHT_OF_LANES(name)                                 \
  OPWRIGHT_LANES Lanes<R, W> name(const Lanes<R, W> &x) {       \
    Lanes<R, W> y;                                              \
    R in[W], out[W];                                            \
    __builtin_memcpy(in, &x, sizeof(x));                        \
    for (int k = 0; k < W; ++k) out[k] = opwright::name(in[k]); \
    __builtin_memcpy(static_cast<void *>(&y), out, sizeof(y));  \
    return y;                                                   \
  }
#define OPWRIGHT_OF_TWO_LANES(name)                                               \
  OPWRIGHT_LANES Lanes<R, W> name(const Lanes<R, W> &a, const Lanes<R, W> &b) {   \
    Lanes<R, W> y;                                                                \
    R one[W], other[W], out[W];                                                   \
    __builtin_memcpy(one, &a, sizeof(a)), __builtin_memcpy(other, &b, sizeof(b)); \
    for (int k = 0; k < W; ++k) out[k] = opwright::name(one[k], other[k]);        \
    __builtin_memcpy(static_cast<void *>(&y), out, sizeof(y));                    \
    return y;                                                                     \
  }                                                                               \
  OPWRIGHT_LANES_AND_NUMBER Lanes<R, W> name(const Lanes<R, W> &a, A b) { return name(a, Lanes<R, W>(b)); }
#define OPWRIGHT_QUESTION(name)                                              \
  OPWRIGHT_LANES Mask<R, W> name(const Lanes<R, W> &x) {                     \
    Mask<R, W> y;                                                            \
    for (int k = 0; k < W; ++k) y.v[k] = opwright::name(R(x.v[k])) ? -1 : 0; \
    return y;                                                                \
  }

/* clang-format off */
OPWRIGHT_OF_LANES(exp) OPWRIGHT_OF_LANES(exp2) OPWRIGHT_OF_LANES(expm1) OPWRIGHT_OF_LANES(log) OPWRIGHT_OF_LANES(log2)
OPWRIGHT_OF_LANES(log10) OPWRIGHT_OF_LANES(log1p) OPWRIGHT_OF_LANES(sqrt) OPWRIGHT_OF_LANES(rsqrt) OPWRIGHT_OF_LANES(cbrt)
OPWRIGHT_OF_LANES(sin) OPWRIGHT_OF_LANES(cos) OPWRIGHT_OF_LANES(tan) OPWRIGHT_OF_LANES(asin) OPWRIGHT_OF_LANES(acos)
OPWRIGHT_OF_LANES(atan) OPWRIGHT_OF_LANES(sinh) OPWRIGHT_OF_LANES(cosh) OPWRIGHT_OF_LANES(tanh) OPWRIGHT_OF_LANES(asinh)
OPWRIGHT_OF_LANES(acosh) OPWRIGHT_OF_LANES(atanh) OPWRIGHT_OF_LANES(erf) OPWRIGHT_OF_LANES(erfc) OPWRIGHT_OF_LANES(erfinv)
OPWRIGHT_OF_LANES(tgamma) OPWRIGHT_OF_LANES(lgamma) OPWRIGHT_OF_LANES(digamma) OPWRIGHT_OF_LANES(trigamma)
OPWRIGHT_OF_LANES(tetragamma) OPWRIGHT_OF_LANES(pentagamma) OPWRIGHT_OF_LANES(sigmoid) OPWRIGHT_OF_LANES(logsigmoid)
OPWRIGHT_OF_LANES(tanhshrink) OPWRIGHT_OF_LANES(one_minus_square) OPWRIGHT_OF_LANES(square_minus_one) OPWRIGHT_OF_LANES(sinc)
OPWRIGHT_OF_LANES(fabs) OPWRIGHT_OF_LANES(abs) OPWRIGHT_OF_LANES(floor) OPWRIGHT_OF_LANES(ceil) OPWRIGHT_OF_LANES(trunc)
OPWRIGHT_OF_LANES(round) OPWRIGHT_OF_LANES(rint) OPWRIGHT_OF_LANES(nearbyint) OPWRIGHT_OF_LANES(sign)
OPWRIGHT_OF_LANES(square)
OPWRIGHT_OF_TWO_LANES(pow) OPWRIGHT_OF_TWO_LANES(atan2) OPWRIGHT_OF_TWO_LANES(hypot) OPWRIGHT_OF_TWO_LANES(fmod)
OPWRIGHT_OF_TWO_LANES(remainder) OPWRIGHT_OF_TWO_LANES(logaddexp) OPWRIGHT_OF_TWO_LANES(xlogy) OPWRIGHT_OF_TWO_LANES(xlog1py)
OPWRIGHT_OF_TWO_LANES(min) OPWRIGHT_OF_TWO_LANES(max)
OPWRIGHT_QUESTION(isnan) OPWRIGHT_QUESTION(isinf) OPWRIGHT_QUESTION(isfinite) OPWRIGHT_QUESTION(signbit)
/* clang-format on */
#undef OPWRIGHT_OF_LANES
#undef OPWRIGHT_OF_TWO_LANES
#undef OPWRIGHT_QUESTION

                                                                            OPWRIGHT_LANES
    Lanes<R, W> fma(const Lanes<R, W> &a, const Lanes<R, W> &b, const Lanes<R, W> &c) {
  Lanes<R, W> y;
  for (int k = 0; k < W; ++k) y.v[k] = opwright::fma(R(a.v[k]), R(b.v[k]), R(c.v[k]));
  return y;
}

OPWRIGHT_LANES R value_of(const Lanes<R, W> &x) { return x.same(); }
OPWRIGHT_LANES Lanes<R, W> stop_gradient(const Lanes<R, W> &x) { return x; }
OPWRIGHT_LANES Lanes<R, W> custom_derivative(const Lanes<R, W> &, const Lanes<R, W> &value, const Lanes<R, W> &) {
  return value;
}
OPWRIGHT_LANES Lanes<R, W> straight_through(const Lanes<R, W> &value, const Lanes<R, W> &) { return value; }

#undef OPWRIGHT_LANES
#undef OPWRIGHT_LANES_AND_NUMBER

}  // namespace detail

/* The lanes are in `detail`, where their own functions are found; a selection by a comparison stands beside the others. */
template <class R, int W, class A, class B, class... None, class D = detail::dual_of_two<A, B, None...>>
OPWRIGHT_INLINE D where(const detail::Mask<R, W> &condition, const A &a, const B &b, None...) {
  return detail::select(condition, D(a), D(b));
}

/* The first row's: a group of rows of which one fails is computed again, row by row. */
template <class R, int W>
Message &operator<<(Message &message, const detail::Lanes<R, W> &x) {
  return message << x.v[0];
}

}  // namespace opwright
#endif
