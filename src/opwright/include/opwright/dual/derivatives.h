/* From the body of a pointwise operator to its derivatives, for generated code.
 *
 * A body is a class with `in` and `out`, how many numbers it takes and gives, and `run(context, const S *in, S *out)` for
 * any scalar type S. So is what is made of it here: rules nest, and each is exact. The context holds what isn't
 * differentiated.
 */
#ifndef OPWRIGHT_DERIVATIVES_H
#define OPWRIGHT_DERIVATIVES_H

#include "../dual.h"

namespace opwright {
namespace detail {

OPWRIGHT_HOST_DEVICE constexpr int bits(uint64_t set) { return set ? int(set & 1) + bits(set >> 1) : 0; }
OPWRIGHT_HOST_DEVICE constexpr uint64_t lowest(int n) { return n < 64 ? (uint64_t(1) << n) - 1 : ~uint64_t(0); }
OPWRIGHT_HOST_DEVICE constexpr bool has(uint64_t set, int i) { return set >> i & 1; }

/* An independent variable: the number `k` of those that are differentiated by, or none of them (-1). */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> variable(const S &value, int k) {
  Dual<S, N> x;
  x.value = value;
  OPWRIGHT_EACH(x.partial[i] = S(i == k ? 1 : 0);)
  return x;
}

/* Reverse mode. In: a gradient for each result of F, then F's arguments. Out: the gradients of those in `wanted`. */
template <class F, uint64_t wanted = lowest(F::in)>
struct Vjp {
  static constexpr int in = F::out + F::in, out = bits(wanted);
  template <class S, class C>
  static OPWRIGHT_INLINE void run(C &context, const S *given, S *result) {
    using D = Dual<S, out>;
    D x[F::in], y[F::out];
    for (int i = 0, k = 0; i < F::in; ++i) x[i] = variable<S, out>(given[F::out + i], has(wanted, i) ? k++ : -1);
    F::run(context, x, y);
    for (int k = 0; k < out; ++k) {
      S sum = times(given[0], y[0].partial[k]);
      for (int o = 1; o < F::out; ++o) sum = sum + times(given[o], y[o].partial[k]);
      result[k] = sum;
    }
  }
};

/* Forward mode. In: a tangent for each argument of F, then the arguments. Out: the tangents of those results in `kept`. */
template <class F, uint64_t kept = lowest(F::out)>
struct Jvp {
  static constexpr int in = 2 * F::in, out = bits(kept);
  template <class S, class C>
  static OPWRIGHT_INLINE void run(C &context, const S *given, S *result) {
    Dual<S, 1> x[F::in], y[F::out];
    for (int i = 0; i < F::in; ++i) x[i].value = given[F::in + i], x[i].partial[0] = given[i];
    F::run(context, x, y);
    for (int o = 0, k = 0; o < F::out; ++o)
      if (has(kept, o)) result[k++] = y[o].partial[0];
  }
};

/* Reverse mode of reverse mode, as Vjp<Vjp<F>> but with 2 (n + 1) numbers for each one of F's instead of (n + 1)^2.
 *
 * In: v, a gradient for each gradient that Vjp<F> gives; g, the gradients that it takes; x, F's arguments. With
 * h_o(x) = sum_j v_j dF_o/dx_j, which one more derivative in the direction v gives, the function to differentiate is
 * sum_o g_o h_o(x). Out: its derivatives by the g_o and x_k that are in `wanted`. */
template <class F, uint64_t wanted = lowest(F::out + F::in)>
struct SecondVjp {
  static constexpr int in = 2 * F::in + F::out, out = bits(wanted);
  template <class S, class C>
  static OPWRIGHT_INLINE void run(C &context, const S *given, S *result) {
    constexpr int N = bits(wanted >> F::out);
    const S *v = given, *g = v + F::in, *arguments = g + F::out;
    Dual<Dual<S, N>, 1> x[F::in], y[F::out];
    for (int i = 0, k = 0; i < F::in; ++i) {
      x[i].value = variable<S, N>(arguments[i], has(wanted, F::out + i) ? k++ : -1);
      x[i].partial[0] = variable<S, N>(v[i], -1);
    }
    F::run(context, x, y);
    int next = 0;
    for (int o = 0; o < F::out; ++o)
      if (has(wanted, o)) result[next++] = y[o].partial[0].value;
    for (int k = 0; k < N; ++k) {
      S sum = times(g[0], y[0].partial[0].partial[k]);
      for (int o = 1; o < F::out; ++o) sum = sum + times(g[o], y[o].partial[0].partial[k]);
      result[next++] = sum;
    }
  }
};

}  // namespace detail

}  // namespace opwright
#endif
