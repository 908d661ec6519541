/* CUDA's dot products of four bytes, and of two 16-bit integers with two bytes; the sum wraps around. */
#ifndef OPWRIGHT_EMULATION_DOTS_H
#define OPWRIGHT_EMULATION_DOTS_H

#include <stdint.h>

#include "context.h"
#include "vectors.h"

namespace opwright {
namespace emulation {

/* `n` elements of `a` times as many of `b`, from element `first` on; added to `c`. */
template <class A, class B, int n, class A_, class B_>
OPWRIGHT_EMULATION_INLINE unsigned dot(const A_ &from_a, const B_ &from_b, unsigned c, int first) {
  static_assert(sizeof from_a == 4 && sizeof from_b == 4, "words");
  A a[4 / sizeof(A)];
  B b[4 / sizeof(B)];
  __builtin_memcpy(a, &from_a, 4);
  __builtin_memcpy(b, &from_b, 4);
  for (int i = 0; i < n; ++i) c += unsigned(int(a[i]) * int(b[first + i]));
  return c;
}

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_DOT(name, A, B, n, first, R, A_, B_)              \
  OPWRIGHT_EMULATION_INLINE R name(A_ a, B_ b, R c) {                        \
    return R(::opwright::emulation::dot<A, B, n>(a, b, unsigned(c), first)); \
  }
#define OPWRIGHT_EMULATION_DOTS(R, bytes, bytes4, shorts, shorts2)           \
  OPWRIGHT_EMULATION_DOT(__dp4a, bytes, bytes, 4, 0, R, R, R)                \
  OPWRIGHT_EMULATION_DOT(__dp4a, bytes, bytes, 4, 0, R, bytes4, bytes4)      \
  OPWRIGHT_EMULATION_DOT(__dp2a_lo, shorts, bytes, 2, 0, R, R, R)            \
  OPWRIGHT_EMULATION_DOT(__dp2a_lo, shorts, bytes, 2, 0, R, shorts2, bytes4) \
  OPWRIGHT_EMULATION_DOT(__dp2a_hi, shorts, bytes, 2, 2, R, R, R)            \
  OPWRIGHT_EMULATION_DOT(__dp2a_hi, shorts, bytes, 2, 2, R, shorts2, bytes4)
OPWRIGHT_EMULATION_DOTS(int, int8_t, char4, int16_t, short2)
OPWRIGHT_EMULATION_DOTS(unsigned, uint8_t, uchar4, uint16_t, ushort2)
#undef OPWRIGHT_EMULATION_DOTS
#undef OPWRIGHT_EMULATION_DOT

#endif
