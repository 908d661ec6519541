/* __nv_fp8_e4m3, __nv_fp8_e5m2 and __nv_fp8_e8m0. */
#ifndef OPWRIGHT_EMULATION_CUDA_FP8_H
#define OPWRIGHT_EMULATION_CUDA_FP8_H
#define __CUDA_FP8_H__ /* CUDA's own include guard */

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "../short_float8.h"

OPWRIGHT_EMULATION_FLOAT8(E4M3, __nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3)
OPWRIGHT_EMULATION_FLOAT8(E5M2, __nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2)
OPWRIGHT_EMULATION_FLOAT8(E8M0, __nv_fp8_e8m0, __nv_fp8x2_e8m0, __nv_fp8x4_e8m0)

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
  const bool within = saturate == __NV_SATFINITE;
  return as == __NV_E4M3 ? ::opwright::emulation::E4M3::code(x, within) : ::opwright::emulation::E5M2::code(x, within);
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
  return __nv_cvt_float_to_fp8(::opwright::emulation::to_odd(x), saturate, as);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t as) {
  return __nv_cvt_float_to_fp8(__half(x), saturate, as);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t as) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturate, as);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t as) {
  return __half(as == __NV_E4M3 ? ::opwright::emulation::E4M3::value(x) : ::opwright::emulation::E5M2::value(x));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t as) {
  return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, as).x,
          __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), as).x};
}

inline __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturate, enum cudaRoundMode rounding) {
  return ::opwright::emulation::E8M0::code(x, saturate == __NV_SATFINITE, rounding == cudaRoundPosInf);
}
inline __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturate, enum cudaRoundMode rounding) {
  return __nv_cvt_float_to_e8m0(::opwright::emulation::to_odd(x), saturate, rounding);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                       enum cudaRoundMode rounding) {
  return __nv_cvt_float_to_e8m0(__nv_bfloat16(x), saturate, rounding);
}
inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  return __nv_bfloat16(::opwright::emulation::E8M0::value(x));
}
inline __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  return {__nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)x).x, __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x >> 8)).x};
}

/* The same for two, the first in the low bits. */
#define OPWRIGHT_EMULATION_TWO(name, two, From, Option)                                                \
  inline __nv_fp8x2_storage_t two(From x, __nv_saturation_t saturate, Option option) {                 \
    return (__nv_fp8x2_storage_t)(name({x.x}, saturate, option) | name({x.y}, saturate, option) << 8); \
  }
OPWRIGHT_EMULATION_TWO(__nv_cvt_float_to_fp8, __nv_cvt_float2_to_fp8x2, float2, __nv_fp8_interpretation_t)
OPWRIGHT_EMULATION_TWO(__nv_cvt_double_to_fp8, __nv_cvt_double2_to_fp8x2, double2, __nv_fp8_interpretation_t)
OPWRIGHT_EMULATION_TWO(__nv_cvt_halfraw_to_fp8, __nv_cvt_halfraw2_to_fp8x2, __half2_raw, __nv_fp8_interpretation_t)
OPWRIGHT_EMULATION_TWO(__nv_cvt_bfloat16raw_to_fp8, __nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw,
                       __nv_fp8_interpretation_t)
OPWRIGHT_EMULATION_TWO(__nv_cvt_float_to_e8m0, __nv_cvt_float2_to_e8m0x2, float2, enum cudaRoundMode)
OPWRIGHT_EMULATION_TWO(__nv_cvt_double_to_e8m0, __nv_cvt_double2_to_e8m0x2, double2, enum cudaRoundMode)
OPWRIGHT_EMULATION_TWO(__nv_cvt_bfloat16raw_to_e8m0, __nv_cvt_bfloat162raw_to_e8m0x2, __nv_bfloat162_raw,
                       enum cudaRoundMode)
#undef OPWRIGHT_EMULATION_TWO

#endif
