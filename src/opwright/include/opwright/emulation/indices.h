/* uint3 and dim3 as CUDA has them, and what a kernel knows of its place: threadIdx, blockIdx, blockDim, gridDim. */
#ifndef OPWRIGHT_EMULATION_INDICES_H
#define OPWRIGHT_EMULATION_INDICES_H

struct uint3 { unsigned x, y, z; };

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
