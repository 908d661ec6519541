/* Includes TH_GENERIC_FILE for byte elements. No include guard: that is done again and again. */
#define Real Byte
#define real uint8_t
#define accreal int64_t
#define TH_REAL_IS_BYTE
#include "THGenerateType.h"
#undef TH_REAL_IS_BYTE
