/* gcc's builtins that the headers use, by CUDA's names, for a compiler that has only those. */
#ifndef OPWRIGHT_BUILTINS_NVRTC_H
#define OPWRIGHT_BUILTINS_NVRTC_H

#define __builtin_exp ::exp
#define __builtin_expf ::expf
#define __builtin_exp2 ::exp2
#define __builtin_exp2f ::exp2f
#define __builtin_expm1 ::expm1
#define __builtin_expm1f ::expm1f
#define __builtin_log ::log
#define __builtin_logf ::logf
#define __builtin_log2 ::log2
#define __builtin_log2f ::log2f
#define __builtin_log10 ::log10
#define __builtin_log10f ::log10f
#define __builtin_log1p ::log1p
#define __builtin_log1pf ::log1pf
#define __builtin_sqrt ::sqrt
#define __builtin_sqrtf ::sqrtf
#define __builtin_cbrt ::cbrt
#define __builtin_cbrtf ::cbrtf
#define __builtin_sin ::sin
#define __builtin_sinf ::sinf
#define __builtin_cos ::cos
#define __builtin_cosf ::cosf
#define __builtin_tan ::tan
#define __builtin_tanf ::tanf
#define __builtin_asin ::asin
#define __builtin_asinf ::asinf
#define __builtin_acos ::acos
#define __builtin_acosf ::acosf
#define __builtin_atan ::atan
#define __builtin_atanf ::atanf
#define __builtin_sinh ::sinh
#define __builtin_sinhf ::sinhf
#define __builtin_cosh ::cosh
#define __builtin_coshf ::coshf
#define __builtin_tanh ::tanh
#define __builtin_tanhf ::tanhf
#define __builtin_asinh ::asinh
#define __builtin_asinhf ::asinhf
#define __builtin_acosh ::acosh
#define __builtin_acoshf ::acoshf
#define __builtin_atanh ::atanh
#define __builtin_atanhf ::atanhf
#define __builtin_erf ::erf
#define __builtin_erff ::erff
#define __builtin_erfc ::erfc
#define __builtin_erfcf ::erfcf
#define __builtin_lgamma ::lgamma
#define __builtin_lgammaf ::lgammaf
#define __builtin_tgamma ::tgamma
#define __builtin_tgammaf ::tgammaf
#define __builtin_floor ::floor
#define __builtin_floorf ::floorf
#define __builtin_ceil ::ceil
#define __builtin_ceilf ::ceilf
#define __builtin_trunc ::trunc
#define __builtin_truncf ::truncf
#define __builtin_rint ::rint
#define __builtin_rintf ::rintf
#define __builtin_nearbyint ::nearbyint
#define __builtin_nearbyintf ::nearbyintf
#define __builtin_fabs ::fabs
#define __builtin_fabsf ::fabsf
#define __builtin_pow ::pow
#define __builtin_powf ::powf
#define __builtin_fmod ::fmod
#define __builtin_fmodf ::fmodf
#define __builtin_atan2 ::atan2
#define __builtin_atan2f ::atan2f
#define __builtin_hypot ::hypot
#define __builtin_hypotf ::hypotf
#define __builtin_fmin ::fmin
#define __builtin_fminf ::fminf
#define __builtin_fmax ::fmax
#define __builtin_fmaxf ::fmaxf
#define __builtin_copysign ::copysign
#define __builtin_copysignf ::copysignf
#define __builtin_fma ::fma
#define __builtin_fmaf ::fmaf
#define __builtin_isnan(x) (::isnan(x) != 0)
#define __builtin_isinf(x) (::isinf(x) != 0)
#define __builtin_isfinite(x) (::isfinite(x) != 0)
#define __builtin_signbit(x) (::signbit(x) != 0)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000LL)
#define __builtin_memcpy ::memcpy
#define __builtin_expect(value, likely) (value)

#endif
