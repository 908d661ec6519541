/* Includes THC_GENERIC_FILE for int64_t elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateLongType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Long
#define CReal CudaLong
#define real int64_t
#define accreal int64_t
#define THC_REAL_IS_LONG
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_LONG

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
