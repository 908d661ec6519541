/* The 8-bit floats, and pairs of 4-bit floats: bytes in memory, which convert to and from float.
 *
 * They have PyTorch's names and no arithmetic: `y[i] = float(x[i]) * scale` computes in float and rounds once, to nearest
 * even, as PyTorch does. What is beyond the largest number becomes
 *
 *   float8_e4m3fn      448, infinity too (earlier versions of PyTorch: NaN)
 *   float8_e5m2        infinity
 *   float8_e4m3fnuz    NaN, infinity too; there is no negative zero
 *   float8_e5m2fnuz    NaN, likewise
 *   float8_e8m0fnu     NaN; these are powers of two, and the sign is lost
 *   float4_e2m1fn_x2   6, and so does NaN; the first of the two is in the low bits
 */
#ifndef OPWRIGHT_FLOAT8_H
#define OPWRIGHT_FLOAT8_H

#include "bit_cast.h"

namespace opwright {

template <class S, int N>
struct Dual;

namespace detail {

/* A format: below the sign an exponent with its bias, then the mantissa. The largest number's code, the codes of what is
 * larger and of NaN. Where `one_zero`, the code of a negative zero is the only NaN. */
template <int M, int B, uint32_t Largest, uint32_t Larger, uint32_t Nan, bool OneZero = false, int Sign = 7>
struct Format {
  static constexpr int mantissa = M, bias = B, sign = Sign;
  static constexpr uint32_t largest = Largest, larger = Larger, nan = Nan, magnitude = (1u << Sign) - 1;
  static constexpr bool one_zero = OneZero;
};

template <class F>
OPWRIGHT_HOST_DEVICE inline float from_format(uint32_t code) {
  constexpr int shift = 23 - F::mantissa;
  constexpr uint32_t rebias = uint32_t(127 - F::bias) << 23, one = 1u << F::mantissa;
  const uint32_t magnitude = code & F::magnitude, sign = (code >> F::sign) << 31;
  /* a subnormal number is a multiple of the least one, 2^(1 - bias - mantissa) */
  const float small = float(int(magnitude)) * bit_cast<float>(uint32_t(128 - F::bias - F::mantissa) << 23);
  uint32_t bits = magnitude < one ? bit_cast<uint32_t>(small) : (magnitude << shift) + rebias;
  if (F::larger > F::largest && !F::one_zero && magnitude == F::larger) bits = 0x7f800000u;
  if (F::nan > F::largest && (F::one_zero ? code == F::nan : magnitude > F::larger)) bits = 0x7fc00000u;
  return bit_cast<float>(sign | bits);
}

template <class F>
OPWRIGHT_HOST_DEVICE inline uint32_t to_format(float value) {
  constexpr int shift = 23 - F::mantissa;
  constexpr uint32_t least = uint32_t(128 - F::bias) << 23, rebias = uint32_t(127 - F::bias) << 23;
  constexpr uint32_t unit = uint32_t(151 - F::bias - F::mantissa) << 23; /* its ulp is the least number */
  const uint32_t bits = bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu, sign = (bits >> 31) << F::sign;
  const uint32_t small = bit_cast<uint32_t>(bit_cast<float>(magnitude) + bit_cast<float>(unit)) - unit;
  const uint32_t rounded = (magnitude + (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1u) - rebias) >> shift;
  uint32_t code = magnitude < least ? small : rounded > F::largest ? F::larger : rounded;
  if (magnitude > 0x7f800000u) code = F::nan;
  return F::one_zero && code == 0 ? 0 : sign | code;
}

using e4m3fn = Format<3, 7, 0x7e, 0x7e, 0x7f>;
using e5m2 = Format<2, 15, 0x7b, 0x7c, 0x7f>;
using e4m3fnuz = Format<3, 8, 0x7f, 0x80, 0x80, true>;
using e5m2fnuz = Format<2, 16, 0x7f, 0x80, 0x80, true>;
using e2m1fn = Format<1, 1, 7, 7, 7, false, 3>;

struct e8m0fnu;
template <>
OPWRIGHT_HOST_DEVICE inline float from_format<e8m0fnu>(uint32_t code) {
  return bit_cast<float>(code == 0 ? 0x00400000u : code == 0xffu ? 0x7fc00000u : code << 23);
}
template <>
OPWRIGHT_HOST_DEVICE inline uint32_t to_format<e8m0fnu>(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value), exponent = (bits >> 23) & 0xffu, rest = bits & 0x7fffffu;
  const bool up = exponent != 0xffu && (rest > 0x400000u || (rest == 0x400000u && exponent > 0));
  return exponent + up;
}

template <class T> struct only_converts { static constexpr bool value = false; };
template <bool, class R> struct enabled {};
template <class R> struct enabled<true, R> { using type = R; };
template <class A, class B = A>
using if_only_converts = typename enabled<only_converts<A>::value || only_converts<B>::value, float>::type;

}  // namespace detail

#define OPWRIGHT_FLOAT8(format)                                                                                    \
  struct float8_##format {                                                                                         \
    uint8_t bits;                                                                                                  \
    float8_##format() = default;                                                                                   \
    OPWRIGHT_HOST_DEVICE float8_##format(float value) : bits(uint8_t(detail::to_format<detail::format>(value))) {} \
    template <class S, int N> /* it has no derivative to lose */                                                   \
    OPWRIGHT_HOST_DEVICE float8_##format(const Dual<S, N> &value) : float8_##format(float(value_of(value))) {}     \
    OPWRIGHT_HOST_DEVICE operator float() const { return detail::from_format<detail::format>(bits); }              \
  };                                                                                                               \
  template <> struct detail::only_converts<float8_##format> { static constexpr bool value = true; };
OPWRIGHT_FLOAT8(e4m3fn)
OPWRIGHT_FLOAT8(e5m2)
OPWRIGHT_FLOAT8(e4m3fnuz)
OPWRIGHT_FLOAT8(e5m2fnuz)
OPWRIGHT_FLOAT8(e8m0fnu)
#undef OPWRIGHT_FLOAT8

struct float4_e2m1fn_x2 {
  uint8_t bits;
  float4_e2m1fn_x2() = default;
  OPWRIGHT_HOST_DEVICE float4_e2m1fn_x2(float first, float second)
      : bits(uint8_t(detail::to_format<detail::e2m1fn>(first) | detail::to_format<detail::e2m1fn>(second) << 4)) {}
  OPWRIGHT_HOST_DEVICE float first() const { return detail::from_format<detail::e2m1fn>(bits & 15u); }
  OPWRIGHT_HOST_DEVICE float second() const { return detail::from_format<detail::e2m1fn>(bits >> 4); }
};
template <> struct detail::only_converts<float4_e2m1fn_x2> { static constexpr bool value = true; };

/* Arithmetic is refused: in these types its result would be lost, and in float it would be what nobody wrote. */
#define OPWRIGHT_NO_ARITHMETIC(op)                                                                         \
  template <class A, class B>                                                                              \
  OPWRIGHT_HOST_DEVICE detail::if_only_converts<A, B> operator op(const A &, const B &) {                  \
    static_assert(sizeof(A) == 0, "8-bit floats have no arithmetic: write float(x) " #op " float(y)");     \
    return 0;                                                                                              \
  }                                                                                                        \
  template <class A, class B>                                                                              \
  OPWRIGHT_HOST_DEVICE detail::if_only_converts<A> operator op## = (A & x, const B &) {                    \
    static_assert(sizeof(A) == 0, "8-bit floats have no arithmetic: write x = float(x) " #op " float(y)"); \
    return x;                                                                                              \
  }
OPWRIGHT_NO_ARITHMETIC(+)
OPWRIGHT_NO_ARITHMETIC(-)
OPWRIGHT_NO_ARITHMETIC(*)
OPWRIGHT_NO_ARITHMETIC(/)
#undef OPWRIGHT_NO_ARITHMETIC
template <class A>
OPWRIGHT_HOST_DEVICE detail::if_only_converts<A> operator-(const A &) {
  static_assert(sizeof(A) == 0, "8-bit floats have no arithmetic: write -float(x)");
  return 0;
}

}  // namespace opwright
#endif
