/* Includes THC_GENERIC_FILE for half elements. No include guard: that is done again and again. */
#define Real Half
#define CReal CudaHalf
#define real half
#define accreal float
#define THC_REAL_IS_HALF
#include "THCGenerateType.h"
#undef THC_REAL_IS_HALF
