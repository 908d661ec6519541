/* Includes TH_GENERIC_FILE for double elements. No include guard: that is done again and again. */
#define Real Double
#define real double
#define accreal double
#define TH_REAL_IS_DOUBLE
#include "THGenerateType.h"
#undef TH_REAL_IS_DOUBLE
