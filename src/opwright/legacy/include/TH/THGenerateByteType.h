/* Includes TH_GENERIC_FILE for byte elements. No include guard: that is done again and again. */
#ifndef TH_GENERIC_FILE
#error "THGenerateByteType.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#define Real Byte
#define real uint8_t
#define accreal int64_t
#define TH_CONVERT_REAL_TO_ACCREAL(value) ((int64_t)(value))
#define TH_CONVERT_ACCREAL_TO_REAL(value) ((uint8_t)(value))
#define TH_REAL_IS_BYTE
#include TH_GENERIC_FILE
#undef Real
#undef real
#undef accreal
#undef TH_CONVERT_REAL_TO_ACCREAL
#undef TH_CONVERT_ACCREAL_TO_REAL
#undef TH_REAL_IS_BYTE

#ifndef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
