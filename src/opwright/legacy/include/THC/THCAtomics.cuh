#ifndef THC_ATOMICS_INC
#define THC_ATOMICS_INC

#include <stdint.h>

#include "THCHalf.h"

/* atomicAdd for the element types that CUDA has none for. Each gives the value that was there before. */

namespace thc_detail {

/* Numbers of one or two bytes lie in a word of four, which is exchanged as a whole until nobody came between. */
template <typename T, typename Add>
__device__ __forceinline__ T atomicUpdateSmall(T *place, Add add) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(place);
  unsigned int *word = reinterpret_cast<unsigned int *>(address & ~uintptr_t(3));
  const unsigned int shift = static_cast<unsigned int>(address & 3) * 8;
  const unsigned int mask = ((1u << (8 * sizeof(T))) - 1) << shift;
  unsigned int seen = *word, expected;
  do {
    expected = seen;
    const unsigned int sum = add((expected & mask) >> shift);
    seen = atomicCAS(word, expected, (expected & ~mask) | ((sum << shift) & mask));
  } while (seen != expected);
  return static_cast<T>((seen & mask) >> shift);
}

template <typename T>
__device__ __forceinline__ T atomicAddSmall(T *place, T value) {
  return atomicUpdateSmall(place, [value](unsigned int old) { return old + static_cast<unsigned int>(value); });
}

}  // namespace thc_detail

static __device__ __forceinline__ uint8_t atomicAdd(uint8_t *place, uint8_t value) {
  return thc_detail::atomicAddSmall(place, value);
}

static __device__ __forceinline__ int8_t atomicAdd(int8_t *place, int8_t value) {
  return thc_detail::atomicAddSmall(place, value);
}

static __device__ __forceinline__ int16_t atomicAdd(int16_t *place, int16_t value) {
  return thc_detail::atomicAddSmall(place, value);
}

static __device__ __forceinline__ int64_t atomicAdd(int64_t *place, int64_t value) {
  return static_cast<int64_t>(
      atomicAdd(reinterpret_cast<unsigned long long *>(place), static_cast<unsigned long long>(value)));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
static __device__ __forceinline__ half atomicAdd(half *place, half value) {
  unsigned short *bits = reinterpret_cast<unsigned short *>(place);
  return __ushort_as_half(thc_detail::atomicUpdateSmall(bits, [value](unsigned int old) {
    const float sum = __half2float(__ushort_as_half(static_cast<unsigned short>(old))) + __half2float(value);
    return static_cast<unsigned int>(__half_as_ushort(__float2half(sum)));
  }));
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
static __device__ __forceinline__ double atomicAdd(double *place, double value) {
  unsigned long long *bits = reinterpret_cast<unsigned long long *>(place);
  unsigned long long seen = *bits, expected;
  do {
    expected = seen;
    const double sum = __longlong_as_double(static_cast<long long>(expected)) + value;
    seen = atomicCAS(bits, expected, static_cast<unsigned long long>(__double_as_longlong(sum)));
  } while (seen != expected);
  return __longlong_as_double(static_cast<long long>(seen));
}
#endif

/* By the name that it had later. */
template <typename T>
static __device__ __forceinline__ T gpuAtomicAdd(T *place, T value) {
  return atomicAdd(place, value);
}

template <typename T>
static __device__ __forceinline__ void gpuAtomicAddNoReturn(T *place, T value) {
  atomicAdd(place, value);
}

#endif
