/* Includes THC_GENERIC_FILE for double elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateDoubleType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Double
#define CReal CudaDouble
#define real double
#define accreal double
#define THC_REAL_IS_DOUBLE
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_DOUBLE

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
