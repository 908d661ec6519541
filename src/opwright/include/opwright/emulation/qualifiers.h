/* CUDA's words for functions and variables. `__global__`, `__device__`, `__host__` and `__shared__` stay words, which the
 * rewriter looks for and removes. In C++ that isn't rewritten (OPWRIGHT_EMULATION_HOST_TEXT) they are nothing; the compiler's
 * command line says so, too, for headers that are read before this. */
#ifndef OPWRIGHT_EMULATION_QUALIFIERS_H
#define OPWRIGHT_EMULATION_QUALIFIERS_H

#ifndef __cplusplus
#error "opwright: CUDA's headers are C++ under emulation, and this file is C. Compile it as CUDA (nvcc -x cu)"
#endif

#ifdef OPWRIGHT_EMULATION_HOST_TEXT
#undef __device__
#undef __host__
#define __device__
#define __host__
#define __constant__
#define __managed__
#else
#define __device__ __device__
#define __host__ __host__
#define __constant__ __device__
#define __managed__ __device__
#endif
#define __grid_constant__
#define __device_builtin__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#ifdef OPWRIGHT_EMULATION_INLINE_IF_POSSIBLE
#define __forceinline__ inline
#else
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __inline_hint__
#define __nv_pure__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define CUDARTAPI
#define CUDART_CB
#define CUDARTAPI_CDECL

/* The device's compute capability, and __CUDA_ARCH__ in its functions. */
#define OPWRIGHT_EMULATION_ARCH 800

#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0

#endif
