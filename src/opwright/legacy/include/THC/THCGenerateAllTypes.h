/* Includes THC_GENERIC_FILE for each of the eight element types. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateAllTypes.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#ifndef THCGenerateManyTypes
#define THCAllTypesLocal_
#define THCGenerateManyTypes
#endif

#include "THCGenerateFloatTypes.h"
#include "THCGenerateIntTypes.h"

#ifdef THCAllTypesLocal_
#undef THCAllTypesLocal_
#undef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
