/* Includes TH_GENERIC_FILE for float elements. No include guard: that is done again and again. */
#define Real Float
#define real float
#define accreal double
#define TH_REAL_IS_FLOAT
#include "THGenerateType.h"
#undef TH_REAL_IS_FLOAT
