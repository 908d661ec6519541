#ifndef THC_DEVICE_UTILS_INC
#define THC_DEVICE_UTILS_INC

#include "THCToolkit.h"

/* a / b, rounded up */
template <typename T>
__host__ __device__ __forceinline__ T THCCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

/* The least multiple of b that isn't below a. */
template <typename T>
__host__ __device__ __forceinline__ T THCRoundUp(T a, T b) {
  return THCCeilDiv(a, b) * b;
}

/* What the threads of a warp tell each other. `mask` says which of them take part: all, unless told otherwise. */
__device__ __forceinline__ unsigned int WARP_BALLOT(int predicate, unsigned int mask = 0xffffffff) {
  return __ballot_sync(mask, predicate);
}

__device__ __forceinline__ int WARP_ANY(int predicate, unsigned int mask = 0xffffffff) {
  return __any_sync(mask, predicate);
}

__device__ __forceinline__ unsigned int ACTIVE_MASK() {
  return __activemask();
}

template <typename T>
__device__ __forceinline__ T WARP_SHFL(T value, int lane, int width = warpSize, unsigned int mask = 0xffffffff) {
  return __shfl_sync(mask, value, lane, width);
}

template <typename T>
__device__ __forceinline__ T WARP_SHFL_XOR(T value, int lanes, int width = warpSize, unsigned int mask = 0xffffffff) {
  return __shfl_xor_sync(mask, value, lanes, width);
}

template <typename T>
__device__ __forceinline__ T WARP_SHFL_UP(T value, unsigned int by, int width = warpSize,
                                          unsigned int mask = 0xffffffff) {
  return __shfl_up_sync(mask, value, by, width);
}

template <typename T>
__device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned int by, int width = warpSize,
                                            unsigned int mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, by, width);
}

/* Through the cache of what nobody writes. */
template <typename T>
__device__ __forceinline__ T doLdg(const T *place) {
#if defined(__CUDA_ARCH__)
  return __ldg(place);
#else
  return *place;
#endif
}

#endif
