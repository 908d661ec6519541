/* Includes TH_GENERIC_FILE for char elements. No include guard: that is done again and again. */
#define Real Char
#define real int8_t
#define accreal int64_t
#define TH_REAL_IS_CHAR
#include "THGenerateType.h"
#undef TH_REAL_IS_CHAR
