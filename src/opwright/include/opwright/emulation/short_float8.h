/* CUDA's 8-bit floats: converted, one, two or four at a time, and nothing else. */
#ifndef OPWRIGHT_EMULATION_SHORT_FLOAT8_H
#define OPWRIGHT_EMULATION_SHORT_FLOAT8_H

#include <type_traits>

#include "../elements/float8.h"
#include "short_float.h"

namespace opwright {
namespace emulation {

/* What is beyond the largest number becomes the largest one (saturate), else infinity, or NaN where there is none. */
struct E4M3 {
  static unsigned char code(float x, bool saturate) {
    if (x != x) return 0x7f;
    const unsigned code = detail::to_format<detail::e4m3fn>(x);
    return (unsigned char)(!saturate && __builtin_fabsf(x) > 464 ? code | 0x7f : code); /* nearer to 480, a NaN */
  }
  static float value(unsigned char code) { return detail::from_format<detail::e4m3fn>(code); }
};
struct E5M2 {
  static unsigned char code(float x, bool saturate) {
    if (x != x) return 0x7f;
    const unsigned code = detail::to_format<detail::e5m2>(x);
    return (unsigned char)(saturate && (code & 0x7f) == 0x7c ? code - 1 : code);
  }
  static float value(unsigned char code) { return detail::from_format<detail::e5m2>(code); }
};
/* Powers of two from 2^-127 to 2^127; the sign is lost. Rounded up in magnitude, or towards zero. */
struct E8M0 {
  static unsigned char code(float x, bool saturate, bool up = true) {
    const unsigned bits = __float_as_uint(x) & 0x7fffffffu, exponent = bits >> 23, rest = bits & 0x7fffffu;
    if (bits > 0x7f800000u) return 0xff;
    const unsigned code = exponent + (up && exponent < 0xff && rest > (exponent ? 0u : 0x400000u));
    return (unsigned char)(saturate && code == 0xff ? 0xfe : code);
  }
  static float value(unsigned char code) { return detail::from_format<detail::e8m0fnu>(code); }
};

template <class I>
using if_integer = typename std::enable_if<std::is_integral<I>::value && !std::is_same<I, bool>::value, int>::type;

}  // namespace emulation
}  // namespace opwright

/* The types of one, two and four. F: the format; x: the first element, in the low bits. */
#define OPWRIGHT_EMULATION_FLOAT8(F, Q, Q2, Q4)                                                             \
  struct Q {                                                                                                \
    unsigned char __x;                                                                                      \
    Q() = default;                                                                                          \
    explicit Q(float value) : __x(::opwright::emulation::F::code(value, true)) {}                           \
    explicit Q(double value) : Q(::opwright::emulation::to_odd(value)) {}                                   \
    explicit Q(__half value) : Q(float(value)) {}                                                           \
    explicit Q(__nv_bfloat16 value) : Q(float(value)) {}                                                    \
    template <class I, ::opwright::emulation::if_integer<I> = 0> explicit Q(I value) : Q(double(value)) {}  \
    explicit operator float() const { return ::opwright::emulation::F::value(__x); }                        \
    explicit operator double() const { return float(*this); }                                               \
    explicit operator __half() const { return __half(float(*this)); }                                       \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }                         \
    explicit operator bool() const { return float(*this) != 0; }                                            \
    template <class I, ::opwright::emulation::if_integer<I> = 0> explicit operator I() const {              \
      return ::opwright::emulation::to_integer<I>('z', float(*this));                                       \
    }                                                                                                       \
  };                                                                                                        \
  struct alignas(2) Q2 {                                                                                    \
    unsigned short __x;                                                                                     \
    Q2() = default;                                                                                         \
    explicit Q2(float2 v) : __x((unsigned short)(Q(v.x).__x | Q(v.y).__x << 8)) {}                          \
    explicit Q2(double2 v) : __x((unsigned short)(Q(v.x).__x | Q(v.y).__x << 8)) {}                         \
    explicit Q2(__half2 v) : Q2(float2{v.x, v.y}) {}                                                        \
    explicit Q2(__nv_bfloat162 v) : Q2(float2{v.x, v.y}) {}                                                 \
    explicit operator float2() const {                                                                      \
      using ::opwright::emulation::F;                                                                       \
      return {F::value((unsigned char)__x), F::value((unsigned char)(__x >> 8))};                           \
    }                                                                                                       \
    explicit operator __half2() const { return __half2(__half(float2(*this).x), __half(float2(*this).y)); } \
    explicit operator __nv_bfloat162() const {                                                              \
      return __nv_bfloat162(__nv_bfloat16(float2(*this).x), __nv_bfloat16(float2(*this).y));                \
    }                                                                                                       \
  };                                                                                                        \
  struct alignas(4) Q4 {                                                                                    \
    unsigned __x;                                                                                           \
    Q4() = default;                                                                                         \
    Q4(Q2 low, Q2 high, int) : __x(low.__x | unsigned(high.__x) << 16) {}                                   \
    explicit Q4(float4 v) : Q4(Q2(float2{v.x, v.y}), Q2(float2{v.z, v.w}), 0) {}                            \
    explicit Q4(double4 v) : Q4(Q2(double2{v.x, v.y}), Q2(double2{v.z, v.w}), 0) {}                         \
    explicit Q4(__half2 low, __half2 high) : Q4(Q2(low), Q2(high), 0) {}                                    \
    explicit Q4(__nv_bfloat162 low, __nv_bfloat162 high) : Q4(Q2(low), Q2(high), 0) {}                      \
    explicit operator float4() const {                                                                      \
      Q2 low, high;                                                                                         \
      low.__x = (unsigned short)__x, high.__x = (unsigned short)(__x >> 16);                                \
      return {float2(low).x, float2(low).y, float2(high).x, float2(high).y};                                \
    }                                                                                                       \
  };
#endif
