/* The marks of CUDA's headers, for a compiler that isn't CUDA's: where the package of CUDA's headers lacks this one. */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __forceinline__ inline __attribute__((always_inline))
#define __no_return__ __attribute__((noreturn))
#define __inline_hint__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __CUDA_ARCH_HAS_FEATURE__(feature) 0
#define __launch_bounds__(...)
#define __specialization_static
#endif
