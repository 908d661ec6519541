/* half and bfloat16: two bytes in memory, float in arithmetic.
 *
 * Both convert to and from float without being asked, so `z[i] = 3 * x[i] - y[i]` computes in float and rounds once, to
 * nearest even. Every number converts by way of float, as in PyTorch: one that float can't hold exactly (a double, an
 * integer beyond 2^24) is rounded to float first. `acc<T>` is the type to add up in: float for the two and for
 * 8-bit floats (float8.h), T itself for the others. In a conditional expression write `float(x)`, since C++ can't tell which
 * of the two directions is meant.
 */
#ifndef OPWRIGHT_HALF_H
#define OPWRIGHT_HALF_H

#include "bit_cast.h"
#include "float8.h"

namespace opwright {
namespace detail {

#if defined(__CUDA_ARCH__)
__device__ inline float from_float16(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline uint16_t to_float16(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#elif !defined(OPWRIGHT_CUDA_COMPILER) && defined(__F16C__) && defined(__FLT16_MANT_DIG__) && \
    (defined(__clang__) || __GNUC__ >= 12)
inline float from_float16(uint16_t bits) { return float(bit_cast<_Float16>(bits)); }
inline uint16_t to_float16(float value) { return bit_cast<uint16_t>(_Float16(value)); }
#else
/* IEEE 754 binary16 by integer arithmetic: scale into place, let the addition round. */
OPWRIGHT_HOST_DEVICE inline float from_float16(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = uint32_t(bits & 0x7fffu) << 13;
  const float scaled = bit_cast<float>(magnitude) * bit_cast<float>(0x77800000u); /* 2^112 */
  const uint32_t finite = bit_cast<uint32_t>(scaled), special = magnitude | 0x7f800000u;
  return bit_cast<float>(sign | (magnitude >= 0x0f800000u ? special : finite));
}
OPWRIGHT_HOST_DEVICE inline uint16_t to_float16(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x47800000u) return uint16_t(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { /* subnormal: add 0.5, whose ulp is 2^-24 */
    const float shifted = bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}
#endif

OPWRIGHT_HOST_DEVICE inline float from_bfloat16(uint16_t bits) { return bit_cast<float>(uint32_t(bits) << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ inline uint16_t to_bfloat16(float value) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
OPWRIGHT_HOST_DEVICE inline uint16_t to_bfloat16(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}
#endif

}  // namespace detail

#ifdef OPWRIGHT_CUDA_HALF /* the source includes it: generated code says so, before this header */
}  // namespace opwright
#include <cuda_fp16.h>
namespace opwright {
#endif

#ifdef OPWRIGHT_CUDA_COMPILER /* a device has no long double, and says so */
#define OPWRIGHT_OF_LONG_DOUBLE(name)
#else
#define OPWRIGHT_OF_LONG_DOUBLE(name) \
  name(long double value) : name(float(value)) {}
#endif
#define OPWRIGHT_ASSIGNING(name, op) \
  OPWRIGHT_HOST_DEVICE name &operator op## = (float other) { return *this = name(float(*this) op other); }
#define OPWRIGHT_SHORT_FLOAT(name)                                                                       \
  struct name {                                                                                          \
    uint16_t bits;                                                                                       \
    name() = default;                                                                                    \
    OPWRIGHT_HOST_DEVICE name(float value) : bits(detail::to_##name(value)) {}                           \
    OPWRIGHT_HOST_DEVICE name(double value) : name(float(value)) {}                                      \
    OPWRIGHT_OF_LONG_DOUBLE(name)                                                                        \
    OPWRIGHT_HOST_DEVICE name(int value) : name(float(value)) {} /* and what promotes to it, bool too */ \
    OPWRIGHT_HOST_DEVICE name(unsigned value) : name(float(value)) {}                                    \
    OPWRIGHT_HOST_DEVICE name(long value) : name(float(value)) {}                                        \
    OPWRIGHT_HOST_DEVICE name(unsigned long value) : name(float(value)) {}                               \
    OPWRIGHT_HOST_DEVICE name(long long value) : name(float(value)) {}                                   \
    OPWRIGHT_HOST_DEVICE name(unsigned long long value) : name(float(value)) {}                          \
    OPWRIGHT_HOST_DEVICE operator float() const { return detail::from_##name(bits); }                    \
    OPWRIGHT_ASSIGNING(name, +)                                                                          \
    OPWRIGHT_ASSIGNING(name, -)                                                                          \
    OPWRIGHT_ASSIGNING(name, *)                                                                          \
    OPWRIGHT_ASSIGNING(name, /)                                                                          \
  };
OPWRIGHT_SHORT_FLOAT(float16)
OPWRIGHT_SHORT_FLOAT(bfloat16)
#undef OPWRIGHT_SHORT_FLOAT
#undef OPWRIGHT_ASSIGNING
#undef OPWRIGHT_OF_LONG_DOUBLE

/* In a CUDA source that includes cuda_fp16.h, half is CUDA's own: views and pointers of either read the same memory. */
#ifdef OPWRIGHT_CUDA_HALF
using half = ::__half;
#else
using half = float16;
#endif

namespace detail {
template <class T> struct accumulate { using type = T; };
/* clang-format off */
/* generated by tools/generate_tables.py */
template <> struct accumulate<float16> { using type = float; };
template <> struct accumulate<bfloat16> { using type = float; };
template <> struct accumulate<float8_e4m3fn> { using type = float; };
template <> struct accumulate<float8_e5m2> { using type = float; };
template <> struct accumulate<float8_e4m3fnuz> { using type = float; };
template <> struct accumulate<float8_e5m2fnuz> { using type = float; };
template <> struct accumulate<float8_e8m0fnu> { using type = float; };
template <> struct accumulate<float4_e2m1fn_x2> { using type = float; };
/* end of what is generated */
/* clang-format on */
#ifdef OPWRIGHT_CUDA_HALF
template <> struct accumulate<::__half> { using type = float; };
#endif
}  // namespace detail

template <class T>
using acc = typename detail::accumulate<T>::type;

}  // namespace opwright
#endif
