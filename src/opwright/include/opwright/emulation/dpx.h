/* CUDA's DPX functions: sums, minima and maxima of three numbers, of 32 bits or two of 16 bits in a word. Sums wrap around. */
#ifndef OPWRIGHT_EMULATION_DPX_H
#define OPWRIGHT_EMULATION_DPX_H

#include <stdint.h>

#include "context.h"

namespace opwright {
namespace emulation {
namespace dpx {

template <class E> OPWRIGHT_EMULATION_INLINE E max(E x, E y) { return x < y ? y : x; }
template <class E> OPWRIGHT_EMULATION_INLINE E min(E x, E y) { return y < x ? y : x; }
template <class E> OPWRIGHT_EMULATION_INLINE E add(E x, E y) { return E(unsigned(x) + unsigned(y)); }
template <class E> OPWRIGHT_EMULATION_INLINE E relu(E x) { return x < 0 ? E(0) : x; }

/* f of the elements of three words. */
template <class E, class F> OPWRIGHT_EMULATION_INLINE unsigned of_halves(unsigned a, unsigned b, unsigned c, F f) {
  const auto half = [&](int at) { return unsigned(uint16_t(f(E(a >> at), E(b >> at), E(c >> at)))) << at; };
  return half(16) | half(0);
}

}  // namespace dpx
}  // namespace emulation
}  // namespace opwright

/* The expression is one of x, y and z, each of type E. */
#define OPWRIGHT_EMULATION_WORDS(name, E, expression) \
  OPWRIGHT_EMULATION_INLINE E name(E x, E y, E z) {   \
    using namespace ::opwright::emulation;            \
    return expression;                                \
  }
#define OPWRIGHT_EMULATION_HALVES(name, E, expression)                           \
  OPWRIGHT_EMULATION_INLINE unsigned name(unsigned a, unsigned b, unsigned c) {  \
    using namespace ::opwright::emulation;                                       \
    return dpx::of_halves<E>(a, b, c, [](E x, E y, E z) { return expression; }); \
  }
#define OPWRIGHT_EMULATION_OF_THREE(name, expression)                          \
  OPWRIGHT_EMULATION_WORDS(name##_s32, int, expression)                        \
  OPWRIGHT_EMULATION_WORDS(name##_s32_relu, int, dpx::relu(expression))        \
  OPWRIGHT_EMULATION_WORDS(name##_u32, unsigned, expression)                   \
  OPWRIGHT_EMULATION_HALVES(name##_s16x2, int16_t, expression)                 \
  OPWRIGHT_EMULATION_HALVES(name##_s16x2_relu, int16_t, dpx::relu(expression)) \
  OPWRIGHT_EMULATION_HALVES(name##_u16x2, uint16_t, expression)

OPWRIGHT_EMULATION_OF_THREE(__vimax3, dpx::max(dpx::max(x, y), z))
OPWRIGHT_EMULATION_OF_THREE(__vimin3, dpx::min(dpx::min(x, y), z))
OPWRIGHT_EMULATION_OF_THREE(__viaddmax, dpx::max(dpx::add(x, y), z))
OPWRIGHT_EMULATION_OF_THREE(__viaddmin, dpx::min(dpx::add(x, y), z))
#undef OPWRIGHT_EMULATION_OF_THREE
#undef OPWRIGHT_EMULATION_HALVES
#undef OPWRIGHT_EMULATION_WORDS

/* Of two numbers; `chosen` says whether the first one is the result, also of equal ones. */
#define OPWRIGHT_EMULATION_BOUND(name, op, E, bits)                                                            \
  OPWRIGHT_EMULATION_INLINE E name##32(E x, E y, bool *chosen) { return (*chosen = x op y) ? x : y; }          \
  OPWRIGHT_EMULATION_INLINE unsigned name##16x2(unsigned a, unsigned b, bool *chosen_high, bool *chosen_low) { \
    *chosen_high = bits(a >> 16) op bits(b >> 16);                                                             \
    *chosen_low = bits(a) op bits(b);                                                                          \
    return ((*chosen_high ? a : b) & 0xffff0000) | ((*chosen_low ? a : b) & 0xffff);                           \
  }
OPWRIGHT_EMULATION_BOUND(__vibmax_s, >=, int, int16_t)
OPWRIGHT_EMULATION_BOUND(__vibmax_u, >=, unsigned, uint16_t)
OPWRIGHT_EMULATION_BOUND(__vibmin_s, <=, int, int16_t)
OPWRIGHT_EMULATION_BOUND(__vibmin_u, <=, unsigned, uint16_t)
#undef OPWRIGHT_EMULATION_BOUND

OPWRIGHT_EMULATION_INLINE int __vimax_s32_relu(int x, int y) { return __vimax3_s32(x, y, 0); }
OPWRIGHT_EMULATION_INLINE unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2(a, b, 0); }
OPWRIGHT_EMULATION_INLINE int __vimin_s32_relu(int x, int y) { return __vimin3_s32_relu(x, y, y); }
OPWRIGHT_EMULATION_INLINE unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vimin3_s16x2_relu(a, b, b); }

#endif
