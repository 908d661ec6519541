/* Includes TH_GENERIC_FILE for int elements. No include guard: that is done again and again. */
#define Real Int
#define real int32_t
#define accreal int64_t
#define TH_REAL_IS_INT
#include "THGenerateType.h"
#undef TH_REAL_IS_INT
