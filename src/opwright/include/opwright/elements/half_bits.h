/* The bits of half and bfloat16 from a float and back, without the types: what mustn't choose a `half` includes this. */
#ifndef OPWRIGHT_HALF_BITS_H
#define OPWRIGHT_HALF_BITS_H

#include "bit_cast.h"

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
}  // namespace opwright

#endif
