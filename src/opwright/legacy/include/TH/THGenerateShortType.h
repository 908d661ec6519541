/* Includes TH_GENERIC_FILE for short elements. No include guard: that is done again and again. */
#define Real Short
#define real int16_t
#define accreal int64_t
#define TH_REAL_IS_SHORT
#include "THGenerateType.h"
#undef TH_REAL_IS_SHORT
