/* __half and __half2. */
#ifndef OPWRIGHT_EMULATION_CUDA_FP16_H
#define OPWRIGHT_EMULATION_CUDA_FP16_H
#define __CUDA_FP16_H__ /* CUDA's own include guard */

#include "cuda_runtime.h"

#include "../short_float.h"

OPWRIGHT_EMULATION_SHORT_FLOAT(half, __half, __half2, __half_raw, __half2_raw)
OPWRIGHT_EMULATION_SHORT_CONVERSIONS(half, half2, __half, __half2)
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 (__ushort_as_half(0x7c00))
#define CUDART_NAN_FP16 (__ushort_as_half(0x7fff))
#define CUDART_MAX_NORMAL_FP16 (__ushort_as_half(0x7bff))
#define CUDART_MIN_DENORM_FP16 (__ushort_as_half(0x0001))
#define CUDART_ZERO_FP16 (__ushort_as_half(0x0000))
#define CUDART_NEG_ZERO_FP16 (__ushort_as_half(0x8000))
#define CUDART_ONE_FP16 (__ushort_as_half(0x3c00))

#endif
