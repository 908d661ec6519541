/* Includes THC_GENERIC_FILE for double elements. No include guard: that is done again and again. */
#define Real Double
#define CReal CudaDouble
#define real double
#define accreal double
#define THC_REAL_IS_DOUBLE
#include "THCGenerateType.h"
#undef THC_REAL_IS_DOUBLE
