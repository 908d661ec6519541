/* Includes THC_GENERIC_FILE for float elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateFloatType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Float
#define CReal Cuda
#define real float
#define accreal float
#define THC_REAL_IS_FLOAT
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_FLOAT

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
