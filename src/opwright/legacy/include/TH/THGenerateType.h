/* Includes TH_GENERIC_FILE for the type that Real, real and accreal are defined as. No include guard: that is done again
   and again. */
#ifndef TH_GENERIC_FILE
#error "THGenerate...Type.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#define TH_CONVERT_REAL_TO_ACCREAL(value) ((accreal)(value))
#define TH_CONVERT_ACCREAL_TO_REAL(value) ((real)(value))
#include TH_GENERIC_FILE
#undef Real
#undef real
#undef accreal
#undef TH_CONVERT_REAL_TO_ACCREAL
#undef TH_CONVERT_ACCREAL_TO_REAL

#ifndef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
