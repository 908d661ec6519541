/* Includes THC_GENERIC_FILE for int32_t elements. No include guard: that is done again and again. */
#define Real Int
#define CReal CudaInt
#define real int32_t
#define accreal int64_t
#define THC_REAL_IS_INT
#include "THCGenerateType.h"
#undef THC_REAL_IS_INT
