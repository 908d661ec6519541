/* Includes TH_GENERIC_FILE for double elements. No include guard: that is done again and again. */
#ifndef TH_GENERIC_FILE
#error "THGenerateDoubleType.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#define Real Double
#define real double
#define accreal double
#define TH_CONVERT_REAL_TO_ACCREAL(value) ((double)(value))
#define TH_CONVERT_ACCREAL_TO_REAL(value) ((double)(value))
#define TH_REAL_IS_DOUBLE
#include TH_GENERIC_FILE
#undef Real
#undef real
#undef accreal
#undef TH_CONVERT_REAL_TO_ACCREAL
#undef TH_CONVERT_ACCREAL_TO_REAL
#undef TH_REAL_IS_DOUBLE

#ifndef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
