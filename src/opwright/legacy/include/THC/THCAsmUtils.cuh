#ifndef THC_ASM_UTILS_INC
#define THC_ASM_UTILS_INC

#include "THCToolkit.h"

/* Fields of bits, from bit `first` on. */
template <typename T>
struct Bitfield {
  static __host__ __device__ __forceinline__ T mask(int bits) {
    return bits >= static_cast<int>(8 * sizeof(T)) ? ~T(0) : (T(1) << bits) - 1;
  }
  static __host__ __device__ __forceinline__ T getBitfield(T value, int first, int bits) {
    return (value >> first) & mask(bits);
  }
  static __host__ __device__ __forceinline__ T setBitfield(T value, T field, int first, int bits) {
    return (value & ~(mask(bits) << first)) | ((field & mask(bits)) << first);
  }
};

/* This thread's number in its warp. */
__device__ __forceinline__ int getLaneId() {
  int lane;
  asm("mov.s32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/* The lanes before this one, with it, after it, with it. */
__device__ __forceinline__ unsigned getLaneMaskLt() {
  return (1u << getLaneId()) - 1;
}

__device__ __forceinline__ unsigned getLaneMaskLe() {
  return getLaneMaskLt() | (1u << getLaneId());
}

__device__ __forceinline__ unsigned getLaneMaskGt() {
  return ~getLaneMaskLe();
}

__device__ __forceinline__ unsigned getLaneMaskGe() {
  return ~getLaneMaskLt();
}

#endif
