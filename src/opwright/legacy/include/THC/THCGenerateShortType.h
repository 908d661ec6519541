/* Includes THC_GENERIC_FILE for int16_t elements. No include guard: that is done again and again. */
#define Real Short
#define CReal CudaShort
#define real int16_t
#define accreal int64_t
#define THC_REAL_IS_SHORT
#include "THCGenerateType.h"
#undef THC_REAL_IS_SHORT
