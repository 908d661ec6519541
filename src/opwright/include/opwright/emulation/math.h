/* Device functions of mathematics that C++ doesn't have, or not under these names.
 *
 * The fast intrinsics (`__expf`) have the domains and special values of CUDA's; their results are exact to float, where a
 * GPU's have an error of a few units in the last place.
 */
#ifndef OPWRIGHT_EMULATION_MATH_H
#define OPWRIGHT_EMULATION_MATH_H

#include <math.h>
#include <stdlib.h>

#include "context.h"
#include "libm.h"

using ::std::isfinite;
using ::std::isinf;
using ::std::isnan;
using ::std::signbit;

/* min and max of equal and of mixed types, as CUDA overloads them. */
#define OPWRIGHT_EMULATION_EXTREMES(A, B, R)  \
  OPWRIGHT_EMULATION_INLINE R min(A a, B b) { \
    const R first(a), second(b);              \
    return first < second ? first : second;   \
  }                                           \
  OPWRIGHT_EMULATION_INLINE R max(A a, B b) { \
    const R first(a), second(b);              \
    return first > second ? first : second;   \
  }
#define OPWRIGHT_EMULATION_MIXED(A, B, R) OPWRIGHT_EMULATION_EXTREMES(A, B, R) OPWRIGHT_EMULATION_EXTREMES(B, A, R)
OPWRIGHT_EMULATION_EXTREMES(int, int, int)
OPWRIGHT_EMULATION_EXTREMES(unsigned, unsigned, unsigned)
OPWRIGHT_EMULATION_EXTREMES(long, long, long)
OPWRIGHT_EMULATION_EXTREMES(unsigned long, unsigned long, unsigned long)
OPWRIGHT_EMULATION_EXTREMES(long long, long long, long long)
OPWRIGHT_EMULATION_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
OPWRIGHT_EMULATION_MIXED(int, unsigned, unsigned)
OPWRIGHT_EMULATION_MIXED(int, long, long)
OPWRIGHT_EMULATION_MIXED(int, unsigned long, unsigned long)
OPWRIGHT_EMULATION_MIXED(int, long long, long long)
OPWRIGHT_EMULATION_MIXED(int, unsigned long long, unsigned long long)
OPWRIGHT_EMULATION_MIXED(unsigned, long, long)
OPWRIGHT_EMULATION_MIXED(unsigned, unsigned long, unsigned long)
OPWRIGHT_EMULATION_MIXED(unsigned, long long, long long)
OPWRIGHT_EMULATION_MIXED(unsigned, unsigned long long, unsigned long long)
OPWRIGHT_EMULATION_MIXED(long, unsigned long, unsigned long)
OPWRIGHT_EMULATION_MIXED(long, long long, long long)
OPWRIGHT_EMULATION_MIXED(long long, unsigned long long, unsigned long long)
#undef OPWRIGHT_EMULATION_EXTREMES
/* A number wins over a NaN. */
#define OPWRIGHT_EMULATION_EXTREMES(A, B, R)                                                      \
  OPWRIGHT_EMULATION_INLINE R min(A a, B b) { return ::opwright::emulation::lesser(R(a), R(b)); } \
  OPWRIGHT_EMULATION_INLINE R max(A a, B b) { return ::opwright::emulation::greater(R(a), R(b)); }
OPWRIGHT_EMULATION_EXTREMES(float, float, float)
OPWRIGHT_EMULATION_EXTREMES(double, double, double)
OPWRIGHT_EMULATION_MIXED(float, double, double)
OPWRIGHT_EMULATION_MIXED(float, int, float)
OPWRIGHT_EMULATION_MIXED(double, int, double)
#undef OPWRIGHT_EMULATION_EXTREMES
#undef OPWRIGHT_EMULATION_MIXED
OPWRIGHT_EMULATION_INLINE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
OPWRIGHT_EMULATION_INLINE unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
OPWRIGHT_EMULATION_INLINE long long llmin(long long a, long long b) { return a < b ? a : b; }
OPWRIGHT_EMULATION_INLINE long long llmax(long long a, long long b) { return a > b ? a : b; }
OPWRIGHT_EMULATION_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
OPWRIGHT_EMULATION_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}

namespace opwright {
namespace emulation {

OPWRIGHT_EMULATION_API double sinpi(double x);
OPWRIGHT_EMULATION_API double cospi(double x);
OPWRIGHT_EMULATION_API double erfinv(double x);
OPWRIGHT_EMULATION_API double erfcinv(double x);
OPWRIGHT_EMULATION_API double erfcx(double x);
OPWRIGHT_EMULATION_API double cyl_bessel_i0(double x);
OPWRIGHT_EMULATION_API double cyl_bessel_i1(double x);
/* Rounded in the direction `mode`: 'n'earest, 'd'own, 'u'p, 'z'ero; `what`: + - * / s(qrt), f(ma), r(eciprocal). */
OPWRIGHT_EMULATION_API float rounded(char what, char mode, float a, float b = 0, float c = 0);
OPWRIGHT_EMULATION_API double rounded(char what, char mode, double a, double b = 0, double c = 0);
OPWRIGHT_EMULATION_API float narrowed(char mode, double x);
OPWRIGHT_EMULATION_API float to_float(char mode, unsigned long long magnitude, bool negative);
OPWRIGHT_EMULATION_API double to_double(char mode, unsigned long long magnitude, bool negative);

inline double whole(char mode, double x) {
  return mode == 'z'   ? __builtin_trunc(x)
         : mode == 'd' ? __builtin_floor(x)
         : mode == 'u' ? __builtin_ceil(x)
                       : __builtin_rint(x);
}
/* As PTX's cvt: a number beyond the type's range becomes the nearest that it has; a NaN 0, but where one of the two types has
 * 64 bits the integer whose highest bit alone is set. */
template <class I, class F>
inline I to_integer(char mode, F from) {
  constexpr unsigned long long top = 1ull << (8 * sizeof(I) - 1);
  constexpr bool is_signed = I(-1) < I(0);
  constexpr I lowest = I(is_signed ? top : 0), highest = I(~lowest);
  if (from != from) return I(sizeof(I) == 8 || sizeof(F) == 8 ? top : 0);
  const double x = whole(mode, from);
  if (x >= double(top) * (is_signed ? 1 : 2)) return highest;
  if (x < double(lowest)) return lowest;
  return I(x);
}

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_FLOAT(name, ...) \
  OPWRIGHT_EMULATION_INLINE float name(float x) { return __VA_ARGS__; }
#define OPWRIGHT_EMULATION_DOUBLE(name, ...) \
  OPWRIGHT_EMULATION_INLINE double name(double x) { return __VA_ARGS__; }
/* name(double), name(float), namef(float), computed in double. */
#define OPWRIGHT_EMULATION_BOTH(name, ...)                                            \
  OPWRIGHT_EMULATION_DOUBLE(name, __VA_ARGS__)                                        \
  OPWRIGHT_EMULATION_INLINE float name##f(float x) { return float(name(double(x))); } \
  OPWRIGHT_EMULATION_INLINE float name(float x) { return name##f(x); }

OPWRIGHT_EMULATION_DOUBLE(rsqrt, 1 / __builtin_sqrt(x))
OPWRIGHT_EMULATION_FLOAT(rsqrtf, float(1 / __builtin_sqrt(double(x))))
OPWRIGHT_EMULATION_FLOAT(rsqrt, rsqrtf(x))
OPWRIGHT_EMULATION_BOTH(rcbrt, 1 / __builtin_cbrt(x))
OPWRIGHT_EMULATION_BOTH(sinpi, ::opwright::emulation::sinpi(x))
OPWRIGHT_EMULATION_BOTH(cospi, ::opwright::emulation::cospi(x))
OPWRIGHT_EMULATION_BOTH(erfinv, ::opwright::emulation::erfinv(x))
OPWRIGHT_EMULATION_BOTH(erfcinv, ::opwright::emulation::erfcinv(x))
OPWRIGHT_EMULATION_BOTH(erfcx, ::opwright::emulation::erfcx(x))
OPWRIGHT_EMULATION_BOTH(normcdf, 0.5 * __builtin_erfc(x * -0.70710678118654752440))
OPWRIGHT_EMULATION_BOTH(normcdfinv, -1.41421356237309504880 * ::opwright::emulation::erfcinv(2 * x))
OPWRIGHT_EMULATION_BOTH(cyl_bessel_i0, ::opwright::emulation::cyl_bessel_i0(x))
OPWRIGHT_EMULATION_BOTH(cyl_bessel_i1, ::opwright::emulation::cyl_bessel_i1(x))

#if defined(__GLIBC__) && defined(__USE_GNU)
OPWRIGHT_EMULATION_FLOAT(exp10, float(__builtin_exp10(double(x))))
#else
OPWRIGHT_EMULATION_BOTH(exp10, __builtin_exp10(x))
#endif
OPWRIGHT_EMULATION_INLINE void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
OPWRIGHT_EMULATION_INLINE void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
OPWRIGHT_EMULATION_INLINE void sincos(float x, float *s, float *c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
OPWRIGHT_EMULATION_INLINE double rhypot(double x, double y) { return 1 / __builtin_hypot(x, y); }
OPWRIGHT_EMULATION_INLINE float rhypotf(float x, float y) { return float(1 / __builtin_hypot(x, y)); }
OPWRIGHT_EMULATION_INLINE double norm3d(double x, double y, double z) {
  return __builtin_hypot(__builtin_hypot(x, y), z);
}
OPWRIGHT_EMULATION_INLINE float norm3df(float x, float y, float z) { return float(norm3d(x, y, z)); }
OPWRIGHT_EMULATION_INLINE double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
OPWRIGHT_EMULATION_INLINE float rnorm3df(float x, float y, float z) { return float(1 / norm3d(x, y, z)); }
OPWRIGHT_EMULATION_INLINE double norm4d(double x, double y, double z, double w) {
  return __builtin_hypot(__builtin_hypot(x, y), __builtin_hypot(z, w));
}
OPWRIGHT_EMULATION_INLINE float norm4df(float x, float y, float z, float w) { return float(norm4d(x, y, z, w)); }
OPWRIGHT_EMULATION_INLINE double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
OPWRIGHT_EMULATION_INLINE float rnorm4df(float x, float y, float z, float w) { return float(1 / norm4d(x, y, z, w)); }
#define OPWRIGHT_EMULATION_NORM(T, name, suffix)                                \
  inline T name(int n, const T *x) {                                            \
    double length = 0;                                                          \
    for (int i = 0; i < n; ++i) length = __builtin_hypot(length, double(x[i])); \
    return T(length);                                                           \
  }                                                                             \
  inline T r##name(int n, const T *x) { return T(1) / name(n, x); }
OPWRIGHT_EMULATION_NORM(double, norm, )
OPWRIGHT_EMULATION_NORM(float, normf, )
#undef OPWRIGHT_EMULATION_NORM

/* The fast ones. */
OPWRIGHT_EMULATION_FLOAT(__expf, __builtin_expf(x))
OPWRIGHT_EMULATION_FLOAT(__exp2f, __builtin_exp2f(x))
OPWRIGHT_EMULATION_FLOAT(__exp10f, float(__builtin_exp10(double(x))))
OPWRIGHT_EMULATION_FLOAT(__logf, __builtin_logf(x))
OPWRIGHT_EMULATION_FLOAT(__log2f, __builtin_log2f(x))
OPWRIGHT_EMULATION_FLOAT(__log10f, __builtin_log10f(x))
OPWRIGHT_EMULATION_FLOAT(__sinf, __builtin_sinf(x))
OPWRIGHT_EMULATION_FLOAT(__cosf, __builtin_cosf(x))
OPWRIGHT_EMULATION_FLOAT(__tanf, __builtin_tanf(x))
OPWRIGHT_EMULATION_FLOAT(__tanhf, __builtin_tanhf(x))
OPWRIGHT_EMULATION_FLOAT(__saturatef, x > 0 ? (x < 1 ? x : 1) : 0)
OPWRIGHT_EMULATION_FLOAT(__frsqrt_rn, rsqrtf(x))
OPWRIGHT_EMULATION_INLINE void __sincosf(float x, float *s, float *c) { sincos(x, s, c); }
/* Through the logarithm: a negative base gives a NaN, whatever the exponent is. */
OPWRIGHT_EMULATION_INLINE float __powf(float x, float y) {
  return float(__builtin_exp2(y * __builtin_log2(double(x))));
}
/* A divisor beyond 2^126 gives 0 (or, from an infinity, a NaN). */
OPWRIGHT_EMULATION_INLINE float __fdividef(float x, float y) {
  const float size = __builtin_fabsf(y);
  return size > 0x1p126f && size <= 0x1.fffffep127f ? x * 0.0f : x / y;
}
OPWRIGHT_EMULATION_INLINE float fdividef(float x, float y) { return x / y; }
OPWRIGHT_EMULATION_INLINE double fdivide(double x, double y) { return x / y; }

/* __fadd_rn and its relatives: never contracted, in any of four roundings. */
#define OPWRIGHT_EMULATION_ROUNDED(T, prefix, mode)                                                          \
  inline T __##prefix##add_r##mode(T a, T b) { return ::opwright::emulation::rounded('+', #mode[0], a, b); } \
  inline T __##prefix##sub_r##mode(T a, T b) { return ::opwright::emulation::rounded('-', #mode[0], a, b); } \
  inline T __##prefix##mul_r##mode(T a, T b) { return ::opwright::emulation::rounded('*', #mode[0], a, b); } \
  inline T __##prefix##div_r##mode(T a, T b) { return ::opwright::emulation::rounded('/', #mode[0], a, b); } \
  inline T __##prefix##sqrt_r##mode(T a) { return ::opwright::emulation::rounded('s', #mode[0], a); }        \
  inline T __##prefix##rcp_r##mode(T a) { return ::opwright::emulation::rounded('/', #mode[0], T(1), a); }
OPWRIGHT_EMULATION_ROUNDED(float, f, d)
OPWRIGHT_EMULATION_ROUNDED(float, f, u)
OPWRIGHT_EMULATION_ROUNDED(float, f, z)
OPWRIGHT_EMULATION_ROUNDED(double, d, d)
OPWRIGHT_EMULATION_ROUNDED(double, d, u)
OPWRIGHT_EMULATION_ROUNDED(double, d, z)
#undef OPWRIGHT_EMULATION_ROUNDED
#define OPWRIGHT_EMULATION_NEAREST(T, prefix, sqrt)                          \
  OPWRIGHT_EMULATION_INLINE T __##prefix##add_rn(T a, T b) { return a + b; } \
  OPWRIGHT_EMULATION_INLINE T __##prefix##sub_rn(T a, T b) { return a - b; } \
  OPWRIGHT_EMULATION_INLINE T __##prefix##mul_rn(T a, T b) { return a * b; } \
  OPWRIGHT_EMULATION_INLINE T __##prefix##div_rn(T a, T b) { return a / b; } \
  OPWRIGHT_EMULATION_INLINE T __##prefix##sqrt_rn(T a) { return sqrt(a); }   \
  OPWRIGHT_EMULATION_INLINE T __##prefix##rcp_rn(T a) { return T(1) / a; }
OPWRIGHT_EMULATION_NEAREST(float, f, __builtin_sqrtf)
OPWRIGHT_EMULATION_NEAREST(double, d, __builtin_sqrt)
#undef OPWRIGHT_EMULATION_NEAREST
OPWRIGHT_EMULATION_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
OPWRIGHT_EMULATION_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
#define OPWRIGHT_EMULATION_FMA(mode)                               \
  inline float __fmaf_r##mode(float a, float b, float c) {         \
    return ::opwright::emulation::rounded('f', #mode[0], a, b, c); \
  }                                                                \
  inline double __fma_r##mode(double a, double b, double c) {      \
    return ::opwright::emulation::rounded('f', #mode[0], a, b, c); \
  }
OPWRIGHT_EMULATION_FMA(d)
OPWRIGHT_EMULATION_FMA(u)
OPWRIGHT_EMULATION_FMA(z)
#undef OPWRIGHT_EMULATION_FMA

/* Conversions; a number that doesn't fit saturates. */
#define OPWRIGHT_EMULATION_CONVERSIONS(mode)                                                                           \
  inline int __float2int_r##mode(float x) { return ::opwright::emulation::to_integer<int>(#mode[0], x); }              \
  inline unsigned __float2uint_r##mode(float x) { return ::opwright::emulation::to_integer<unsigned>(#mode[0], x); }   \
  inline long long __float2ll_r##mode(float x) { return ::opwright::emulation::to_integer<long long>(#mode[0], x); }   \
  inline unsigned long long __float2ull_r##mode(float x) {                                                             \
    return ::opwright::emulation::to_integer<unsigned long long>(#mode[0], x);                                         \
  }                                                                                                                    \
  inline int __double2int_r##mode(double x) { return ::opwright::emulation::to_integer<int>(#mode[0], x); }            \
  inline unsigned __double2uint_r##mode(double x) { return ::opwright::emulation::to_integer<unsigned>(#mode[0], x); } \
  inline long long __double2ll_r##mode(double x) { return ::opwright::emulation::to_integer<long long>(#mode[0], x); } \
  inline unsigned long long __double2ull_r##mode(double x) {                                                           \
    return ::opwright::emulation::to_integer<unsigned long long>(#mode[0], x);                                         \
  }                                                                                                                    \
  inline float __double2float_r##mode(double x) { return ::opwright::emulation::narrowed(#mode[0], x); }               \
  inline float __uint2float_r##mode(unsigned x) { return ::opwright::emulation::to_float(#mode[0], x, false); }        \
  inline float __ull2float_r##mode(unsigned long long x) {                                                             \
    return ::opwright::emulation::to_float(#mode[0], x, false);                                                        \
  }                                                                                                                    \
  inline double __ull2double_r##mode(unsigned long long x) {                                                           \
    return ::opwright::emulation::to_double(#mode[0], x, false);                                                       \
  }                                                                                                                    \
  inline float __ll2float_r##mode(long long x) {                                                                       \
    return ::opwright::emulation::to_float(#mode[0], x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x,     \
                                           x < 0);                                                                     \
  }                                                                                                                    \
  inline float __int2float_r##mode(int x) { return __ll2float_r##mode(x); }                                            \
  inline double __ll2double_r##mode(long long x) {                                                                     \
    return ::opwright::emulation::to_double(#mode[0], x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x,    \
                                            x < 0);                                                                    \
  }
OPWRIGHT_EMULATION_CONVERSIONS(n)
OPWRIGHT_EMULATION_CONVERSIONS(d)
OPWRIGHT_EMULATION_CONVERSIONS(u)
OPWRIGHT_EMULATION_CONVERSIONS(z)
#undef OPWRIGHT_EMULATION_CONVERSIONS
OPWRIGHT_EMULATION_INLINE double __int2double_rn(int x) { return x; }
OPWRIGHT_EMULATION_INLINE double __uint2double_rn(unsigned x) { return x; }

#undef OPWRIGHT_EMULATION_FLOAT
#undef OPWRIGHT_EMULATION_DOUBLE
#undef OPWRIGHT_EMULATION_BOTH
#endif
