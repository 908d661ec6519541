/* CUDA's SIMD intrinsics: two 16-bit or four 8-bit integers in a word. */
#ifndef OPWRIGHT_EMULATION_SIMD_H
#define OPWRIGHT_EMULATION_SIMD_H

#include <stdint.h>

#include "context.h"

namespace opwright {
namespace emulation {

/* f of every pair of elements; of its result, an int, the element's bits are kept. */
template <class E, class F> OPWRIGHT_EMULATION_INLINE unsigned in_lanes(unsigned a, unsigned b, F f) {
  constexpr unsigned bits = 8 * sizeof(E), mask = (1u << bits) - 1;
  unsigned result = 0;
  for (unsigned at = 0; at < 32; at += bits) result |= (unsigned(f(int(E(a >> at)), int(E(b >> at)))) & mask) << at;
  return result;
}

/* The nearest number that the element type has. */
template <class E> OPWRIGHT_EMULATION_INLINE int within(int x) {
  constexpr int bits = 8 * sizeof(E), least = E(-1) < E(0) ? -(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
  return x < least ? least : x > most ? most : x;
}

template <class E> OPWRIGHT_EMULATION_INLINE unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  in_lanes<E>(a, b, [&sum](int x, int y) { return sum += unsigned(x < y ? y - x : x - y), 0; });
  return sum;
}

}  // namespace emulation
}  // namespace opwright

/* name2 and name4, of one or two words whose elements are signed (int) or not (uint). */
#define OPWRIGHT_EMULATION_LANES(name, n, E, expression)                                            \
  OPWRIGHT_EMULATION_INLINE unsigned name##n(unsigned a, unsigned b) {                              \
    using Element = E;                                                                              \
    return ::opwright::emulation::in_lanes<Element>(a, b, [](int x, int y) { return expression; }); \
  }
#define OPWRIGHT_EMULATION_SIMD(name, sign, expression)     \
  OPWRIGHT_EMULATION_LANES(name, 2, sign##16_t, expression) \
  OPWRIGHT_EMULATION_LANES(name, 4, sign##8_t, expression)
#define OPWRIGHT_EMULATION_SIMD_OF_ONE(name, expression)                                          \
  OPWRIGHT_EMULATION_INLINE unsigned name##2(unsigned a) {                                        \
    using Element = int16_t;                                                                      \
    return ::opwright::emulation::in_lanes<Element>(a, 0, [](int x, int) { return expression; }); \
  }                                                                                               \
  OPWRIGHT_EMULATION_INLINE unsigned name##4(unsigned a) {                                        \
    using Element = int8_t;                                                                       \
    return ::opwright::emulation::in_lanes<Element>(a, 0, [](int x, int) { return expression; }); \
  }
/* A comparison: all bits of an element (cmp), or the number 1 (set). */
#define OPWRIGHT_EMULATION_SIMD_COMPARISON(name, sign, op)     \
  OPWRIGHT_EMULATION_SIMD(__vcmp##name, sign, x op y ? -1 : 0) \
  OPWRIGHT_EMULATION_SIMD(__vset##name, sign, x op y ? 1 : 0)

OPWRIGHT_EMULATION_SIMD_OF_ONE(__vabs, x < 0 ? -x : x)
OPWRIGHT_EMULATION_SIMD_OF_ONE(__vabsss, ::opwright::emulation::within<Element>(x < 0 ? -x : x))
OPWRIGHT_EMULATION_SIMD_OF_ONE(__vneg, -x)
OPWRIGHT_EMULATION_SIMD_OF_ONE(__vnegss, ::opwright::emulation::within<Element>(-x))
OPWRIGHT_EMULATION_SIMD(__vabsdiffs, int, x < y ? y - x : x - y)
OPWRIGHT_EMULATION_SIMD(__vabsdiffu, uint, x < y ? y - x : x - y)
OPWRIGHT_EMULATION_SIMD(__vadd, uint, x + y)
OPWRIGHT_EMULATION_SIMD(__vaddss, int, ::opwright::emulation::within<Element>(x + y))
OPWRIGHT_EMULATION_SIMD(__vaddus, uint, ::opwright::emulation::within<Element>(x + y))
OPWRIGHT_EMULATION_SIMD(__vsub, uint, x - y)
OPWRIGHT_EMULATION_SIMD(__vsubss, int, ::opwright::emulation::within<Element>(x - y))
OPWRIGHT_EMULATION_SIMD(__vsubus, uint, ::opwright::emulation::within<Element>(x - y))
OPWRIGHT_EMULATION_SIMD(__vavgs, int, (x + y + (x + y >= 0)) >> 1) /* halves away from zero */
OPWRIGHT_EMULATION_SIMD(__vavgu, uint, (x + y + 1) >> 1)
OPWRIGHT_EMULATION_SIMD(__vhaddu, uint, (x + y) >> 1)
OPWRIGHT_EMULATION_SIMD(__vmaxs, int, x < y ? y : x)
OPWRIGHT_EMULATION_SIMD(__vmaxu, uint, x < y ? y : x)
OPWRIGHT_EMULATION_SIMD(__vmins, int, y < x ? y : x)
OPWRIGHT_EMULATION_SIMD(__vminu, uint, y < x ? y : x)
OPWRIGHT_EMULATION_SIMD_COMPARISON(eq, uint, ==)
OPWRIGHT_EMULATION_SIMD_COMPARISON(ne, uint, !=)
OPWRIGHT_EMULATION_SIMD_COMPARISON(ges, int, >=)
OPWRIGHT_EMULATION_SIMD_COMPARISON(geu, uint, >=)
OPWRIGHT_EMULATION_SIMD_COMPARISON(gts, int, >)
OPWRIGHT_EMULATION_SIMD_COMPARISON(gtu, uint, >)
OPWRIGHT_EMULATION_SIMD_COMPARISON(les, int, <=)
OPWRIGHT_EMULATION_SIMD_COMPARISON(leu, uint, <=)
OPWRIGHT_EMULATION_SIMD_COMPARISON(lts, int, <)
OPWRIGHT_EMULATION_SIMD_COMPARISON(ltu, uint, <)
#undef OPWRIGHT_EMULATION_SIMD_COMPARISON
#undef OPWRIGHT_EMULATION_SIMD_OF_ONE
#undef OPWRIGHT_EMULATION_SIMD
#undef OPWRIGHT_EMULATION_LANES

OPWRIGHT_EMULATION_INLINE unsigned __vsads2(unsigned a, unsigned b) {
  return ::opwright::emulation::sum_of_differences<int16_t>(a, b);
}
OPWRIGHT_EMULATION_INLINE unsigned __vsadu2(unsigned a, unsigned b) {
  return ::opwright::emulation::sum_of_differences<uint16_t>(a, b);
}
OPWRIGHT_EMULATION_INLINE unsigned __vsads4(unsigned a, unsigned b) {
  return ::opwright::emulation::sum_of_differences<int8_t>(a, b);
}
OPWRIGHT_EMULATION_INLINE unsigned __vsadu4(unsigned a, unsigned b) {
  return ::opwright::emulation::sum_of_differences<uint8_t>(a, b);
}

#endif
