/* Includes TH_GENERIC_FILE for float and double elements. */
#ifndef TH_GENERIC_FILE
#error "THGenerateFloatTypes.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#ifndef THGenerateManyTypes
#define THFloatTypesLocal_
#define THGenerateManyTypes
#endif

#include "THGenerateFloatType.h"
#include "THGenerateDoubleType.h"

#ifdef THFloatTypesLocal_
#undef THFloatTypesLocal_
#undef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
