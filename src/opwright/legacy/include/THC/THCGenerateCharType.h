/* Includes THC_GENERIC_FILE for int8_t elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateCharType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Char
#define CReal CudaChar
#define real int8_t
#define accreal int64_t
#define THC_REAL_IS_CHAR
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_CHAR

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
