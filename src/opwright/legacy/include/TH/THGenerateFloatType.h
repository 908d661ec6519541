/* Includes TH_GENERIC_FILE for float elements. No include guard: that is done again and again. */
#ifndef TH_GENERIC_FILE
#error "THGenerateFloatType.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#define Real Float
#define real float
#define accreal double
#define TH_CONVERT_REAL_TO_ACCREAL(value) ((double)(value))
#define TH_CONVERT_ACCREAL_TO_REAL(value) ((float)(value))
#define TH_REAL_IS_FLOAT
#include TH_GENERIC_FILE
#undef Real
#undef real
#undef accreal
#undef TH_CONVERT_REAL_TO_ACCREAL
#undef TH_CONVERT_ACCREAL_TO_REAL
#undef TH_REAL_IS_FLOAT

#ifndef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
