/* What __half and __nv_bfloat16 have in common: computed in float, rounded once by each operation. */
#ifndef OPWRIGHT_EMULATION_SHORT_FLOAT_H
#define OPWRIGHT_EMULATION_SHORT_FLOAT_H

#include "../elements/half.h"
#include "atomics.h"
#include "bits.h"
#include "math.h"
#include "vectors.h"

namespace opwright {
namespace emulation {

/* Rounded to odd, so that rounding it again to fewer bits is as if it had been rounded once. */
inline float to_odd(double x) {
  const float near = float(x);
  if (double(near) == x || x != x) return near;
  const unsigned bits = __float_as_uint(near);
  if (bits & 1) return near;
  const bool outwards = __builtin_fabs(x) > __builtin_fabs(double(near));
  return __uint_as_float(outwards ? bits + 1 : bits - 1);
}
/* a * b + c, rounded to odd; a product of short floats is exact in double. */
inline float fused(float a, float b, float c) {
  const double product = double(a) * b, sum = product + c;
  if (!(__builtin_fabs(sum) <= 1e300)) return float(sum);
  const double of_c = sum - product, error = (product - (sum - of_c)) + (c - of_c);
  if (error == 0) return to_odd(sum);
  const unsigned long long bits = (unsigned long long)__double_as_longlong(sum);
  if (bits & 1) return to_odd(sum);
  return to_odd(__longlong_as_double((long long)((error > 0) == (sum > 0) ? bits + 1 : bits - 1)));
}

inline unsigned short half_bits(float x) { return x != x ? 0x7fff : ::opwright::detail::to_float16(x); }
inline unsigned short bfloat16_bits(float x) { return x != x ? 0x7fff : ::opwright::detail::to_bfloat16(x); }
inline float half_value(unsigned short bits) { return ::opwright::detail::from_float16(bits); }
inline float bfloat16_value(unsigned short bits) { return ::opwright::detail::from_bfloat16(bits); }

/* `near` is the short float nearest to x; the one next to x in the direction `mode`. */
inline unsigned short directed(char mode, unsigned short near, float value, double x) {
  if (value != value || value == x) return near;
  const bool low = value < x, negative = near >> 15;
  const bool up = mode == 'u' || (mode == 'z' && x < 0);
  if (low != up) return near;
  if (!(near & 0x7fff)) return up ? 0x0001 : 0x8001;
  return (unsigned short)(negative == up ? near - 1 : near + 1);
}

}  // namespace emulation
}  // namespace opwright

/* A number that doesn't fit saturates, as in the conversions by name. PyTorch's extensions ask for none of these. */
#define OPWRIGHT_EMULATION_SHORT_INTEGER(I) \
  operator I() const { return ::opwright::emulation::to_integer<I>('z', float(*this)); }
#define OPWRIGHT_EMULATION_SHORT_INTEGERS             \
  operator bool() const { return float(*this) != 0; } \
  OPWRIGHT_EMULATION_SHORT_INTEGER(char)              \
  OPWRIGHT_EMULATION_SHORT_INTEGER(signed char)       \
  OPWRIGHT_EMULATION_SHORT_INTEGER(unsigned char)     \
  OPWRIGHT_EMULATION_SHORT_INTEGER(short)             \
  OPWRIGHT_EMULATION_SHORT_INTEGER(unsigned short)    \
  OPWRIGHT_EMULATION_SHORT_INTEGER(int)               \
  OPWRIGHT_EMULATION_SHORT_INTEGER(unsigned)          \
  OPWRIGHT_EMULATION_SHORT_INTEGER(long)              \
  OPWRIGHT_EMULATION_SHORT_INTEGER(unsigned long)     \
  OPWRIGHT_EMULATION_SHORT_INTEGER(long long)         \
  OPWRIGHT_EMULATION_SHORT_INTEGER(unsigned long long)
#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define OPWRIGHT_EMULATION_half_INTEGERS
#else
#define OPWRIGHT_EMULATION_half_INTEGERS OPWRIGHT_EMULATION_SHORT_INTEGERS
#endif
#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define OPWRIGHT_EMULATION_bfloat16_INTEGERS
#else
#define OPWRIGHT_EMULATION_bfloat16_INTEGERS OPWRIGHT_EMULATION_SHORT_INTEGERS
#endif

/* The types. N: half or bfloat16; H, H2, R, R2: the types of one, of two, and of their bits. The operators are friends,
 * which only these types find: c10::Half, which converts to __half, has its own.
 */
#define OPWRIGHT_EMULATION_SHORT_FLOAT(N, H, H2, R, R2)                                             \
  struct R { unsigned short x; };                                                                   \
  struct alignas(4) R2 { unsigned short x, y; };                                                    \
  struct alignas(2) H {                                                                             \
    unsigned short __x;                                                                             \
    H() = default;                                                                                  \
    H(const R &raw) : __x(raw.x) {}                                                                 \
    H(float value) : __x(::opwright::emulation::N##_bits(value)) {}                                 \
    H(double value) : __x(::opwright::emulation::N##_bits(::opwright::emulation::to_odd(value))) {} \
    H(short value) : H(float(value)) {}                                                             \
    H(unsigned short value) : H(float(value)) {}                                                    \
    H(int value) : H(double(value)) {}                                                              \
    H(unsigned value) : H(double(value)) {}                                                         \
    H(long value) : H(double(value)) {}                                                             \
    H(unsigned long value) : H(double(value)) {}                                                    \
    H(long long value) : H(double(value)) {}                                                        \
    H(unsigned long long value) : H(double(value)) {}                                               \
    operator float() const { return ::opwright::emulation::N##_value(__x); }                        \
    OPWRIGHT_EMULATION_##N##_INTEGERS operator R() const { return R{__x}; }                         \
    H &operator=(const R &raw) { return __x = raw.x, *this; }                                       \
    H &operator=(float value) { return *this = H(value); }                                          \
    H &operator=(double value) { return *this = H(value); }                                         \
    H &operator=(short value) { return *this = H(value); }                                          \
    H &operator=(unsigned short value) { return *this = H(value); }                                 \
    H &operator=(int value) { return *this = H(value); }                                            \
    H &operator=(unsigned value) { return *this = H(value); }                                       \
    H &operator=(long long value) { return *this = H(value); }                                      \
    H &operator=(unsigned long long value) { return *this = H(value); }                             \
    static H from_bits(unsigned short bits) { return H(R{bits}); }                                  \
    OPWRIGHT_EMULATION_SHORT_OPERATOR(H, +)                                                         \
    OPWRIGHT_EMULATION_SHORT_OPERATOR(H, -)                                                         \
    OPWRIGHT_EMULATION_SHORT_OPERATOR(H, *)                                                         \
    OPWRIGHT_EMULATION_SHORT_OPERATOR(H, /)                                                         \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, ==)                                                        \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, !=)                                                        \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, <)                                                         \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, <=)                                                        \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, >)                                                         \
    OPWRIGHT_EMULATION_SHORT_COMPARED(H, >=)                                                        \
    friend H operator+(H a) { return a; }                                                           \
    friend H operator-(H a) { return H::from_bits((unsigned short)(a.__x ^ 0x8000)); }              \
    friend H &operator++(H &a) { return a = a + H(1.0f); }                                          \
    friend H &operator--(H &a) { return a = a - H(1.0f); }                                          \
    friend H operator++(H &a, int) {                                                                \
      const H before = a;                                                                           \
      return ++a, before;                                                                           \
    }                                                                                               \
    friend H operator--(H &a, int) {                                                                \
      const H before = a;                                                                           \
      return --a, before;                                                                           \
    }                                                                                               \
  };                                                                                                \
  struct alignas(4) H2 {                                                                            \
    H x, y;                                                                                         \
    H2() = default;                                                                                 \
    H2(H a, H b) : x(a), y(b) {}                                                                    \
    H2(const R2 &raw) : x(R{raw.x}), y(R{raw.y}) {}                                                 \
    operator R2() const { return R2{x.__x, y.__x}; }                                                \
    OPWRIGHT_EMULATION_SHORT_OPERATOR_OF_TWO(H2, +)                                                 \
    OPWRIGHT_EMULATION_SHORT_OPERATOR_OF_TWO(H2, -)                                                 \
    OPWRIGHT_EMULATION_SHORT_OPERATOR_OF_TWO(H2, *)                                                 \
    OPWRIGHT_EMULATION_SHORT_OPERATOR_OF_TWO(H2, /)                                                 \
    friend H2 operator+(H2 a) { return a; }                                                         \
    friend H2 operator-(H2 a) { return H2(-a.x, -a.y); }                                            \
  };                                                                                                \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, eq, ==)                                                \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, ne, !=)                                                \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, lt, <)                                                 \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, le, <=)                                                \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, gt, >)                                                 \
  OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, ge, >=)                                                \
  OPWRIGHT_EMULATION_SHORT_ARITHMETIC(H, H2)                                                        \
  OPWRIGHT_EMULATION_SHORT_FUNCTIONS(H, H2)                                                         \
  OPWRIGHT_EMULATION_INLINE H2 atomicAdd(H2 *address, H2 value, const char * = 0, int = 0) {        \
    return ::opwright::emulation::atomic_add_pair(address, value);                                  \
  }

#define OPWRIGHT_EMULATION_SHORT_OPERATOR(H, op)                     \
  friend H operator op(H a, H b) { return H(float(a) op float(b)); } \
  friend H &operator op## = (H & a, H b) { return a = a op b; }
#define OPWRIGHT_EMULATION_SHORT_OPERATOR_OF_TWO(H2, op)                   \
  friend H2 operator op(H2 a, H2 b) { return H2(a.x op b.x, a.y op b.y); } \
  friend H2 &operator op## = (H2 & a, H2 b) { return a = a op b; }
#define OPWRIGHT_EMULATION_SHORT_COMPARED(H, op) \
  friend bool operator op(H a, H b) { return float(a) op float(b); }

/* A NaN compares as unequal; the functions with a u say yes where one is involved. */
#define OPWRIGHT_EMULATION_SHORT_COMPARISON(H, H2, name, op)                                                          \
  inline bool __h##name(H a, H b) { return float(a) == float(a) && float(b) == float(b) && float(a) op float(b); }    \
  inline bool __h##name##u(H a, H b) { return float(a) != float(a) || float(b) != float(b) || float(a) op float(b); } \
  inline H2 __h##name##2(H2 a, H2 b) { return H2(H(float(__h##name(a.x, b.x))), H(float(__h##name(a.y, b.y)))); }     \
  inline H2 __h##name##u2(H2 a, H2 b) {                                                                               \
    return H2(H(float(__h##name##u(a.x, b.x))), H(float(__h##name##u(a.y, b.y))));                                    \
  }                                                                                                                   \
  inline bool __hb##name##2(H2 a, H2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }                        \
  inline bool __hb##name##u2(H2 a, H2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }                 \
  inline bool operator op(H2 a, H2 b) { return __hb##name##2(a, b); }

#define OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, one, two) \
  inline H2 two(H2 a, H2 b) { return H2(one(a.x, b.x), one(a.y, b.y)); }
#define OPWRIGHT_EMULATION_SHORT_ARITHMETIC(H, H2)                                                                \
  inline H __hadd(H a, H b) { return a + b; }                                                                     \
  inline H __hsub(H a, H b) { return a - b; }                                                                     \
  inline H __hmul(H a, H b) { return a * b; }                                                                     \
  inline H __hdiv(H a, H b) { return a / b; }                                                                     \
  inline H __hadd_rn(H a, H b) { return a + b; }                                                                  \
  inline H __hsub_rn(H a, H b) { return a - b; }                                                                  \
  inline H __hmul_rn(H a, H b) { return a * b; }                                                                  \
  inline H __hadd_sat(H a, H b) { return H(__saturatef(a + b)); }                                                 \
  inline H __hsub_sat(H a, H b) { return H(__saturatef(a - b)); }                                                 \
  inline H __hmul_sat(H a, H b) { return H(__saturatef(a * b)); }                                                 \
  inline H __hfma(H a, H b, H c) { return H(::opwright::emulation::fused(a, b, c)); }                             \
  inline H __hfma_sat(H a, H b, H c) { return H(__saturatef(__hfma(a, b, c))); }                                  \
  inline H __hfma_relu(H a, H b, H c) {                                                                           \
    const H r = __hfma(a, b, c);                                                                                  \
    return r < H(0.0f) ? H(0.0f) : r;                                                                             \
  }                                                                                                               \
  inline H __hneg(H a) { return -a; }                                                                             \
  inline H __habs(H a) { return H::from_bits((unsigned short)(a.__x & 0x7fff)); }                                 \
  inline H __hmax(H a, H b) { return H(__builtin_fmaxf(a, b)); }                                                  \
  inline H __hmin(H a, H b) { return H(__builtin_fminf(a, b)); }                                                  \
  inline H __hmax_nan(H a, H b) { return a != a || b != b ? H(__builtin_nanf("")) : __hmax(a, b); }               \
  inline H __hmin_nan(H a, H b) { return a != a || b != b ? H(__builtin_nanf("")) : __hmin(a, b); }               \
  inline bool __hisnan(H a) { return float(a) != float(a); }                                                      \
  inline int __hisinf(H a) { return __builtin_fabsf(a) == __builtin_inff() ? (a.__x >> 15 ? -1 : 1) : 0; }        \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hadd, __hadd2)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hsub, __hsub2)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmul, __hmul2)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hdiv, __h2div)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hadd, __hadd2_rn)                                                        \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hsub, __hsub2_rn)                                                        \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmul, __hmul2_rn)                                                        \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hadd_sat, __hadd2_sat)                                                   \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hsub_sat, __hsub2_sat)                                                   \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmul_sat, __hmul2_sat)                                                   \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmax, __hmax2)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmin, __hmin2)                                                           \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmax_nan, __hmax2_nan)                                                   \
  OPWRIGHT_EMULATION_SHORT_PAIR(H, H2, __hmin_nan, __hmin2_nan)                                                   \
  inline H2 __hfma2(H2 a, H2 b, H2 c) { return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }                \
  inline H2 __hfma2_sat(H2 a, H2 b, H2 c) { return H2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)); }    \
  inline H2 __hfma2_relu(H2 a, H2 b, H2 c) { return H2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)); } \
  inline H2 __hneg2(H2 a) { return -a; }                                                                          \
  inline H2 __habs2(H2 a) { return H2(__habs(a.x), __habs(a.y)); }                                                \
  inline H2 __hisnan2(H2 a) { return H2(H(float(__hisnan(a.x))), H(float(__hisnan(a.y)))); }

#define OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, name, ...) \
  inline H h##name(H a) {                                   \
    const double x = float(a);                              \
    return H(double(__VA_ARGS__));                          \
  }                                                         \
  inline H2 h2##name(H2 a) { return H2(h##name(a.x), h##name(a.y)); }
#define OPWRIGHT_EMULATION_SHORT_FUNCTIONS(H, H2)                        \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, exp, __builtin_exp(x))        \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, exp2, __builtin_exp2(x))      \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, exp10, __builtin_exp10(x))    \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, log, __builtin_log(x))        \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, log2, __builtin_log2(x))      \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, log10, __builtin_log10(x))    \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, sin, __builtin_sin(x))        \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, cos, __builtin_cos(x))        \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, tanh, __builtin_tanh(x))      \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, sqrt, __builtin_sqrt(x))      \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, rsqrt, 1 / __builtin_sqrt(x)) \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, rcp, 1 / x)                   \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, floor, __builtin_floor(x))    \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, ceil, __builtin_ceil(x))      \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, trunc, __builtin_trunc(x))    \
  OPWRIGHT_EMULATION_SHORT_FUNCTION(H, H2, rint, __builtin_rint(x))

/* Conversions, whose names hold the type's. */
#define OPWRIGHT_EMULATION_SHORT_TO(N, H, name, I)                                                  \
  inline I __##N##2##name##_rn(H a) { return ::opwright::emulation::to_integer<I>('n', float(a)); } \
  inline I __##N##2##name##_rz(H a) { return ::opwright::emulation::to_integer<I>('z', float(a)); } \
  inline I __##N##2##name##_rd(H a) { return ::opwright::emulation::to_integer<I>('d', float(a)); } \
  inline I __##N##2##name##_ru(H a) { return ::opwright::emulation::to_integer<I>('u', float(a)); } \
  inline H __##name##2##N##_rn(I a) { return H(a); }                                                \
  inline H __##name##2##N##_rz(I a) {                                                               \
    return H::from_bits(::opwright::emulation::directed('z', H(a).__x, float(H(a)), double(a)));    \
  }                                                                                                 \
  inline H __##name##2##N##_rd(I a) {                                                               \
    return H::from_bits(::opwright::emulation::directed('d', H(a).__x, float(H(a)), double(a)));    \
  }                                                                                                 \
  inline H __##name##2##N##_ru(I a) {                                                               \
    return H::from_bits(::opwright::emulation::directed('u', H(a).__x, float(H(a)), double(a)));    \
  }
#define OPWRIGHT_EMULATION_SHORT_CONVERSIONS(N, N2, H, H2)                                                             \
  inline float __##N##2float(H a) { return a; }                                                                        \
  inline H __float2##N(float a) { return H(a); }                                                                       \
  inline H __double2##N(double a) { return H(a); }                                                                     \
  inline H __float2##N##_rn(float a) { return H(a); }                                                                  \
  inline H __float2##N##_rz(float a) { return H::from_bits(::opwright::emulation::directed('z', H(a).__x, H(a), a)); } \
  inline H __float2##N##_rd(float a) { return H::from_bits(::opwright::emulation::directed('d', H(a).__x, H(a), a)); } \
  inline H __float2##N##_ru(float a) { return H::from_bits(::opwright::emulation::directed('u', H(a).__x, H(a), a)); } \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, int, int)                                                                          \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, uint, unsigned)                                                                    \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, short, short)                                                                      \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, ushort, unsigned short)                                                            \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, ll, long long)                                                                     \
  OPWRIGHT_EMULATION_SHORT_TO(N, H, ull, unsigned long long)                                                           \
  inline signed char __##N##2char_rz(H a) { return ::opwright::emulation::to_integer<signed char>('z', float(a)); }    \
  inline unsigned char __##N##2uchar_rz(H a) {                                                                         \
    return ::opwright::emulation::to_integer<unsigned char>('z', float(a));                                            \
  }                                                                                                                    \
  inline short __##N##_as_short(H a) { return (short)a.__x; }                                                          \
  inline unsigned short __##N##_as_ushort(H a) { return a.__x; }                                                       \
  inline H __short_as_##N(short a) { return H::from_bits((unsigned short)a); }                                         \
  inline H __ushort_as_##N(unsigned short a) { return H::from_bits(a); }                                               \
  inline H2 make_##N2(H a, H b) { return H2(a, b); }                                                                   \
  inline H2 __halves2##N2(H a, H b) { return H2(a, b); }                                                               \
  inline H2 __##N##2##N2(H a) { return H2(a, a); }                                                                     \
  inline H2 __float2##N2##_rn(float a) { return H2(H(a), H(a)); }                                                      \
  inline H2 __floats2##N2##_rn(float a, float b) { return H2(H(a), H(b)); }                                            \
  inline H2 __float22##N2##_rn(float2 a) { return H2(H(a.x), H(a.y)); }                                                \
  inline float2 __##N2##2float2(H2 a) { return float2{a.x, a.y}; }                                                     \
  inline float __low2float(H2 a) { return a.x; }                                                                       \
  inline float __high2float(H2 a) { return a.y; }                                                                      \
  inline H __low2##N(H2 a) { return a.x; }                                                                             \
  inline H __high2##N(H2 a) { return a.y; }                                                                            \
  inline H2 __low2##N2(H2 a) { return H2(a.x, a.x); }                                                                  \
  inline H2 __high2##N2(H2 a) { return H2(a.y, a.y); }                                                                 \
  inline H2 __lows2##N2(H2 a, H2 b) { return H2(a.x, b.x); }                                                           \
  inline H2 __highs2##N2(H2 a, H2 b) { return H2(a.y, b.y); }                                                          \
  inline H2 __lowhigh2highlow(H2 a) { return H2(a.y, a.x); }

#endif
