/* The numbers of the tape in emulated CUDA kernels: whose threads run in order then, so that one tape has them all. */
#ifndef OPWRIGHT_TAPE_EMULATED_H
#define OPWRIGHT_TAPE_EMULATED_H

#include "../emulation/groups/exchange.h"
#include "tape.h"

namespace opwright {

namespace emulation {

template <class S, int N> struct runs_in_order<Dual<S, N>> { static constexpr bool value = true; };

}  // namespace emulation

#define OPWRIGHT_OF_DUALS template <class S, int N> OPWRIGHT_INLINE

/* What shuffles exchange (emulation/warp.h): value and derivative together, which are more than eight bytes. */
OPWRIGHT_OF_DUALS Dual<S, N> exchange_value(unsigned mask, Dual<S, N> value, unsigned source, const char *file,
                                            int line) {
  return emulation::exchange_any(mask, value, source, file, line);
}

/* CUDA's own functions (emulation/math.h), by those that have slopes. */
namespace detail {
constexpr double log_of_ten = 2.30258509299404568402, half_root = 0.70710678118654752440;
}
OPWRIGHT_OF_DUALS Dual<S, N> exp10(const Dual<S, N> &x) { return exp(x * detail::log_of_ten); }
OPWRIGHT_OF_DUALS Dual<S, N> rcbrt(const Dual<S, N> &x) { return 1 / cbrt(x); }
OPWRIGHT_OF_DUALS Dual<S, N> sinpi(const Dual<S, N> &x) { return sin(x * detail::pi); }
OPWRIGHT_OF_DUALS Dual<S, N> cospi(const Dual<S, N> &x) { return cos(x * detail::pi); }
OPWRIGHT_OF_DUALS Dual<S, N> erfcx(const Dual<S, N> &x) { return exp(x * x) * erfc(x); }
OPWRIGHT_OF_DUALS Dual<S, N> normcdf(const Dual<S, N> &x) { return erfc(x * -detail::half_root) * 0.5; }
OPWRIGHT_OF_DUALS Dual<S, N> rhypot(const Dual<S, N> &x, const Dual<S, N> &y) { return 1 / hypot(x, y); }
OPWRIGHT_OF_DUALS Dual<S, N> norm3d(const Dual<S, N> &x, const Dual<S, N> &y, const Dual<S, N> &z) {
  return hypot(hypot(x, y), z);
}
OPWRIGHT_OF_DUALS Dual<S, N> rnorm3d(const Dual<S, N> &x, const Dual<S, N> &y, const Dual<S, N> &z) {
  return 1 / norm3d(x, y, z);
}
OPWRIGHT_OF_DUALS Dual<S, N> fdivide(const Dual<S, N> &x, const Dual<S, N> &y) { return x / y; }
OPWRIGHT_OF_DUALS void sincos(const Dual<S, N> &x, Dual<S, N> *s, Dual<S, N> *c) { *s = sin(x), *c = cos(x); }
OPWRIGHT_OF_DUALS void sincospi(const Dual<S, N> &x, Dual<S, N> *s, Dual<S, N> *c) { *s = sinpi(x), *c = cospi(x); }

#undef OPWRIGHT_OF_DUALS

}  // namespace opwright
#endif
