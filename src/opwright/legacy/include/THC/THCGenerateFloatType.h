/* Includes THC_GENERIC_FILE for float elements. No include guard: that is done again and again. */
#define Real Float
#define CReal Cuda
#define real float
#define accreal float
#define THC_REAL_IS_FLOAT
#include "THCGenerateType.h"
#undef THC_REAL_IS_FLOAT
