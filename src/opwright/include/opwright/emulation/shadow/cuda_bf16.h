/* __nv_bfloat16 and __nv_bfloat162. */
#ifndef OPWRIGHT_EMULATION_CUDA_BF16_H
#define OPWRIGHT_EMULATION_CUDA_BF16_H
#define __CUDA_BF16_H__ /* CUDA's own include guard */

#include "cuda_fp16.h"

#include "../short_float.h"

OPWRIGHT_EMULATION_SHORT_FLOAT(bfloat16, __nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, __nv_bfloat162_raw)
OPWRIGHT_EMULATION_SHORT_CONVERSIONS(bfloat16, bfloat162, __nv_bfloat16, __nv_bfloat162)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 (__ushort_as_bfloat16(0x7f80))
#define CUDART_NAN_BF16 (__ushort_as_bfloat16(0x7fff))
#define CUDART_MAX_NORMAL_BF16 (__ushort_as_bfloat16(0x7f7f))
#define CUDART_MIN_DENORM_BF16 (__ushort_as_bfloat16(0x0001))
#define CUDART_ZERO_BF16 (__ushort_as_bfloat16(0x0000))
#define CUDART_NEG_ZERO_BF16 (__ushort_as_bfloat16(0x8000))
#define CUDART_ONE_BF16 (__ushort_as_bfloat16(0x3f80))

#endif
