/* Includes THC_GENERIC_FILE for int64_t elements. No include guard: that is done again and again. */
#define Real Long
#define CReal CudaLong
#define real int64_t
#define accreal int64_t
#define THC_REAL_IS_LONG
#include "THCGenerateType.h"
#undef THC_REAL_IS_LONG
