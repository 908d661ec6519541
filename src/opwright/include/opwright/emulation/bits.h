/* CUDA's integer intrinsics, and those that look at a number's bits. */
#ifndef OPWRIGHT_EMULATION_BITS_H
#define OPWRIGHT_EMULATION_BITS_H

#include "context.h"

#define OPWRIGHT_EMULATION_AS(name, To, From)               \
  OPWRIGHT_EMULATION_INLINE To name(From from) {            \
    static_assert(sizeof(To) == sizeof(From), "same size"); \
    To to;                                                  \
    __builtin_memcpy(&to, &from, sizeof(to));               \
    return to;                                              \
  }
OPWRIGHT_EMULATION_AS(__float_as_int, int, float)
OPWRIGHT_EMULATION_AS(__float_as_uint, unsigned, float)
OPWRIGHT_EMULATION_AS(__int_as_float, float, int)
OPWRIGHT_EMULATION_AS(__uint_as_float, float, unsigned)
OPWRIGHT_EMULATION_AS(__double_as_longlong, long long, double)
OPWRIGHT_EMULATION_AS(__longlong_as_double, double, long long)
#undef OPWRIGHT_EMULATION_AS

OPWRIGHT_EMULATION_INLINE int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
OPWRIGHT_EMULATION_INLINE int __double2loint(double x) { return int(__double_as_longlong(x)); }
OPWRIGHT_EMULATION_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

OPWRIGHT_EMULATION_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
OPWRIGHT_EMULATION_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
OPWRIGHT_EMULATION_INLINE int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
OPWRIGHT_EMULATION_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
OPWRIGHT_EMULATION_INLINE int __ffs(int x) { return __builtin_ffs(x); }
OPWRIGHT_EMULATION_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
OPWRIGHT_EMULATION_INLINE unsigned long long __brevll(unsigned long long x) {
  x = (x & 0x5555555555555555u) << 1 | (x >> 1 & 0x5555555555555555u);
  x = (x & 0x3333333333333333u) << 2 | (x >> 2 & 0x3333333333333333u);
  x = (x & 0x0f0f0f0f0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0fu);
  return __builtin_bswap64(x);
}
OPWRIGHT_EMULATION_INLINE unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
/* The position of the n-th set bit from `base` on, upwards for n > 0, downwards for n < 0; ~0 where there is none. */
inline unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  for (int at = int(base), left = n < 0 ? -n : n; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
    if ((mask >> at & 1) && --left == 0) return unsigned(at);
  return ~0u;
}

OPWRIGHT_EMULATION_INLINE int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
OPWRIGHT_EMULATION_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
OPWRIGHT_EMULATION_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
OPWRIGHT_EMULATION_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
/* Only the lower 24 bits of the factors count; of the product the lower 32. */
OPWRIGHT_EMULATION_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
OPWRIGHT_EMULATION_INLINE int __mul24(int a, int b) {
  return int((long long)(int(unsigned(a) << 8) >> 8) * (int(unsigned(b) << 8) >> 8));
}
OPWRIGHT_EMULATION_INLINE unsigned __sad(int a, int b, unsigned c) {
  return c + (a > b ? unsigned(a) - unsigned(b) : unsigned(b) - unsigned(a));
}
OPWRIGHT_EMULATION_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
OPWRIGHT_EMULATION_INLINE int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
OPWRIGHT_EMULATION_INLINE int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
OPWRIGHT_EMULATION_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b) >> 1);
}
OPWRIGHT_EMULATION_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b + 1) >> 1);
}

OPWRIGHT_EMULATION_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
OPWRIGHT_EMULATION_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
OPWRIGHT_EMULATION_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
OPWRIGHT_EMULATION_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* Four bytes out of the eight of `low` and `high`; bit 3 of a selector repeats the byte's sign instead. */
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selectors) {
  const unsigned long long both = (unsigned long long)high << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned selector = selectors >> 4 * i & 15, byte = unsigned(both >> 8 * (selector & 7)) & 255;
    result |= (selector & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
  }
  return result;
}

#endif
