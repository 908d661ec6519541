/* float4, make_float4 and their relatives, with CUDA's alignment. */
#ifndef OPWRIGHT_EMULATION_VECTORS_H
#define OPWRIGHT_EMULATION_VECTORS_H

#include "indices.h"

#define OPWRIGHT_EMULATION_1(T, name) \
  struct name##1 { T x; };            \
  inline name##1 make_##name##1(T x) { return {x}; }
#define OPWRIGHT_EMULATION_2(T, name, alignment) \
  struct alignas(alignment) name##2 { T x, y; }; \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }
#define OPWRIGHT_EMULATION_3(T, name) \
  struct name##3 { T x, y, z; };      \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define OPWRIGHT_EMULATION_4(T, name, alignment)       \
  struct alignas(alignment) name##4 { T x, y, z, w; }; \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define OPWRIGHT_EMULATION_VECTORS(T, name, two, four) \
  OPWRIGHT_EMULATION_1(T, name)                        \
  OPWRIGHT_EMULATION_2(T, name, two)                   \
  OPWRIGHT_EMULATION_3(T, name)                        \
  OPWRIGHT_EMULATION_4(T, name, four)

OPWRIGHT_EMULATION_VECTORS(signed char, char, 2, 4)
OPWRIGHT_EMULATION_VECTORS(unsigned char, uchar, 2, 4)
OPWRIGHT_EMULATION_VECTORS(short, short, 4, 8)
OPWRIGHT_EMULATION_VECTORS(unsigned short, ushort, 4, 8)
OPWRIGHT_EMULATION_VECTORS(int, int, 8, 16)
OPWRIGHT_EMULATION_VECTORS(long, long, 16, 16)
OPWRIGHT_EMULATION_VECTORS(unsigned long, ulong, 16, 16)
OPWRIGHT_EMULATION_VECTORS(long long, longlong, 16, 16)
OPWRIGHT_EMULATION_VECTORS(unsigned long long, ulonglong, 16, 16)
OPWRIGHT_EMULATION_VECTORS(float, float, 8, 16)
OPWRIGHT_EMULATION_VECTORS(double, double, 16, 16)
OPWRIGHT_EMULATION_1(unsigned, uint)
OPWRIGHT_EMULATION_2(unsigned, uint, 8)
OPWRIGHT_EMULATION_4(unsigned, uint, 16)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

#undef OPWRIGHT_EMULATION_VECTORS
#undef OPWRIGHT_EMULATION_1
#undef OPWRIGHT_EMULATION_2
#undef OPWRIGHT_EMULATION_3
#undef OPWRIGHT_EMULATION_4
#endif
