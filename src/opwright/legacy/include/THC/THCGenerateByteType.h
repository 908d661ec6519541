/* Includes THC_GENERIC_FILE for uint8_t elements. No include guard: that is done again and again. */
#define Real Byte
#define CReal CudaByte
#define real uint8_t
#define accreal int64_t
#define THC_REAL_IS_BYTE
#include "THCGenerateType.h"
#undef THC_REAL_IS_BYTE
