/* Includes TH_GENERIC_FILE for long elements. No include guard: that is done again and again. */
#define Real Long
#define real int64_t
#define accreal int64_t
#define TH_REAL_IS_LONG
#include "THGenerateType.h"
#undef TH_REAL_IS_LONG
