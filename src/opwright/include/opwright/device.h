/* OPWRIGHT_HOST_DEVICE: a function that CUDA compiles for both sides; OPWRIGHT_DEVICE: for the device alone. OPWRIGHT_TABLE: a
 * constant outside of functions that both have, each its own. Elsewhere, emulation included, they are nothing.
 *
 * Where there is no standard library, NVRTC has none of gcc's builtins either, but CUDA's functions, which nvcc takes the
 * builtins for: so the headers write builtins everywhere.
 */
#ifndef OPWRIGHT_DEVICE_H
#define OPWRIGHT_DEVICE_H

#if defined(__CUDACC__) && !defined(OPWRIGHT_EMULATION)
#define OPWRIGHT_CUDA_COMPILER
#define OPWRIGHT_HOST_DEVICE __host__ __device__
#define OPWRIGHT_DEVICE __device__
#elif defined( \
    OPWRIGHT_EMULATION) /* __CUDA_ARCH__ in their bodies is to be seen; the marks are gone when it's compiled */
#define OPWRIGHT_HOST_DEVICE __host__ __device__
#define OPWRIGHT_DEVICE
#else
#define OPWRIGHT_HOST_DEVICE
#define OPWRIGHT_DEVICE
#endif

/* Whether this is CUDA text at all, whichever half of it and whichever compiler. */
#if defined(__CUDACC__) || defined(OPWRIGHT_NVRTC_HOST) || defined(OPWRIGHT_EMULATION)
#define OPWRIGHT_CUDA_TEXT
#endif

#if defined(OPWRIGHT_CUDA_COMPILER) && defined(__CUDA_ARCH__)
#define OPWRIGHT_TABLE __device__
#else
#define OPWRIGHT_TABLE
#endif

#ifdef __CUDACC_RTC__
#include "builtins_nvrtc.h"
#endif
#endif
