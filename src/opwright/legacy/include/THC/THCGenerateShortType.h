/* Includes THC_GENERIC_FILE for int16_t elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateShortType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Short
#define CReal CudaShort
#define real int16_t
#define accreal int64_t
#define THC_REAL_IS_SHORT
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_SHORT

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
