/* Includes TH_GENERIC_FILE for int elements. No include guard: that is done again and again. */
#ifndef TH_GENERIC_FILE
#error "THGenerateIntType.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#define Real Int
#define real int32_t
#define accreal int64_t
#define TH_CONVERT_REAL_TO_ACCREAL(value) ((int64_t)(value))
#define TH_CONVERT_ACCREAL_TO_REAL(value) ((int32_t)(value))
#define TH_REAL_IS_INT
#include TH_GENERIC_FILE
#undef Real
#undef real
#undef accreal
#undef TH_CONVERT_REAL_TO_ACCREAL
#undef TH_CONVERT_ACCREAL_TO_REAL
#undef TH_REAL_IS_INT

#ifndef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
