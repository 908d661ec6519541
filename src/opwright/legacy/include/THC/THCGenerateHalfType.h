/* Includes THC_GENERIC_FILE for half elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateHalfType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Half
#define CReal CudaHalf
#define real half
#define accreal float
#define THC_REAL_IS_HALF
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_HALF

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
