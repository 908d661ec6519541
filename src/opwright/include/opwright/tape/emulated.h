/* The numbers of the tape in emulated CUDA kernels: whose threads run in order then, so that one tape has them all. */
#ifndef OPWRIGHT_TAPE_EMULATED_H
#define OPWRIGHT_TAPE_EMULATED_H

#include "../emulation/groups/exchange.h"
#include "tape.h"

namespace opwright {

namespace emulation {

template <class S, int N> struct runs_in_order<Dual<S, N>> { static constexpr bool value = true; };

}  // namespace emulation

/* What shuffles exchange (emulation/warp.h): value and derivative together, which are more than eight bytes. */
template <class S, int N>
OPWRIGHT_INLINE Dual<S, N> exchange_value(unsigned mask, Dual<S, N> value, unsigned source, const char *file, int line) {
  return emulation::exchange_any(mask, value, source, file, line);
}

}  // namespace opwright
#endif
