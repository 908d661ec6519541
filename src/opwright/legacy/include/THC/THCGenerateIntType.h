/* Includes THC_GENERIC_FILE for int32_t elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateIntType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Int
#define CReal CudaInt
#define real int32_t
#define accreal int64_t
#define THC_REAL_IS_INT
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_INT

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
