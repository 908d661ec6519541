/* Includes THC_GENERIC_FILE for int8_t elements. No include guard: that is done again and again. */
#define Real Char
#define CReal CudaChar
#define real int8_t
#define accreal int64_t
#define THC_REAL_IS_CHAR
#include "THCGenerateType.h"
#undef THC_REAL_IS_CHAR
