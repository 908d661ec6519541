/* Includes THC_GENERIC_FILE for half, float and double. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateFloatTypes.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#ifndef THCGenerateManyTypes
#define THCFloatTypesLocal_
#define THCGenerateManyTypes
#endif

#include "THCGenerateHalfType.h"
#include "THCGenerateFloatType.h"
#include "THCGenerateDoubleType.h"

#ifdef THCFloatTypesLocal_
#undef THCFloatTypesLocal_
#undef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
