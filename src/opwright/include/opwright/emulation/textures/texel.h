/* What a type is to a texture: its channels, and how the registers of a fetch become a value of it. */
#ifndef OPWRIGHT_EMULATION_TEXTURES_TEXEL_H
#define OPWRIGHT_EMULATION_TEXTURES_TEXEL_H

#include "../context.h"
#include "../vectors.h"
#include "types.h"

namespace opwright {
namespace emulation {

/* Four 32-bit registers, as a fetch fills them: a float's bits, or a whole number extended to 32 bits. */
struct Texel { unsigned channels[4]; };

/* Of a type that no texture has. */
template <class T> struct TexelOf {
  static constexpr int channels = 0, bits = 0;
  static constexpr cudaChannelFormatKind kind = cudaChannelFormatKindNone;
};
template <class T, int n> struct FloatsOf {};
template <class T> struct FloatsOf<T, 1> { using type = float; };
template <class T> struct FloatsOf<T, 2> { using type = float2; };
template <class T> struct FloatsOf<T, 4> { using type = float4; };

template <class C> OPWRIGHT_EMULATION_INLINE C channel(unsigned bits) { return C(bits); }
template <> OPWRIGHT_EMULATION_INLINE float channel<float>(unsigned bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

#define OPWRIGHT_EMULATION_TEXEL(T, C, count, of, ...)                                \
  template <> struct TexelOf<T> {                                                     \
    static constexpr int channels = count, bits = 8 * sizeof(C);                      \
    static constexpr cudaChannelFormatKind kind = of;                                 \
    OPWRIGHT_EMULATION_INLINE static T from(const Texel &t) { return {__VA_ARGS__}; } \
  };
#define OPWRIGHT_EMULATION_CHANNEL(C, i) channel<C>(t.channels[i])
#define OPWRIGHT_EMULATION_TEXELS(C, name, of)                                                                    \
  OPWRIGHT_EMULATION_TEXEL(name##1, C, 1, of, OPWRIGHT_EMULATION_CHANNEL(C, 0))                                   \
  OPWRIGHT_EMULATION_TEXEL(name##2, C, 2, of, OPWRIGHT_EMULATION_CHANNEL(C, 0), OPWRIGHT_EMULATION_CHANNEL(C, 1)) \
  OPWRIGHT_EMULATION_TEXEL(name##4, C, 4, of, OPWRIGHT_EMULATION_CHANNEL(C, 0), OPWRIGHT_EMULATION_CHANNEL(C, 1), \
                           OPWRIGHT_EMULATION_CHANNEL(C, 2), OPWRIGHT_EMULATION_CHANNEL(C, 3))
#define OPWRIGHT_EMULATION_SCALAR(C, of) OPWRIGHT_EMULATION_TEXEL(C, C, 1, of, OPWRIGHT_EMULATION_CHANNEL(C, 0))

OPWRIGHT_EMULATION_SCALAR(char, char(-1) < 0 ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_SCALAR(signed char, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_SCALAR(unsigned char, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_SCALAR(short, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_SCALAR(unsigned short, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_SCALAR(int, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_SCALAR(unsigned, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_SCALAR(float, cudaChannelFormatKindFloat)
OPWRIGHT_EMULATION_TEXELS(signed char, char, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_TEXELS(unsigned char, uchar, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_TEXELS(short, short, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_TEXELS(unsigned short, ushort, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_TEXELS(int, int, cudaChannelFormatKindSigned)
OPWRIGHT_EMULATION_TEXELS(unsigned, uint, cudaChannelFormatKindUnsigned)
OPWRIGHT_EMULATION_TEXELS(float, float, cudaChannelFormatKindFloat)
#undef OPWRIGHT_EMULATION_SCALAR
#undef OPWRIGHT_EMULATION_TEXELS
#undef OPWRIGHT_EMULATION_CHANNEL
#undef OPWRIGHT_EMULATION_TEXEL

/* The type of a fetch of T's: T, or as many floats. */
template <class T, cudaTextureReadMode mode> struct FetchedAs { using type = T; };
template <class T> struct FetchedAs<T, cudaReadModeNormalizedFloat> {
  using type = typename FloatsOf<T, TexelOf<T>::channels>::type;
};

}  // namespace emulation
}  // namespace opwright

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  using Of = ::opwright::emulation::TexelOf<T>;
  return {Of::channels > 0 ? Of::bits : 0, Of::channels > 1 ? Of::bits : 0, Of::channels > 2 ? Of::bits : 0,
          Of::channels > 3 ? Of::bits : 0, Of::kind};
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() { return {16, 0, 0, 0, cudaChannelFormatKindFloat}; }
inline cudaChannelFormatDesc cudaCreateChannelDescHalf1() { return {16, 0, 0, 0, cudaChannelFormatKindFloat}; }
inline cudaChannelFormatDesc cudaCreateChannelDescHalf2() { return {16, 16, 0, 0, cudaChannelFormatKindFloat}; }
inline cudaChannelFormatDesc cudaCreateChannelDescHalf4() { return {16, 16, 16, 16, cudaChannelFormatKindFloat}; }

#endif
