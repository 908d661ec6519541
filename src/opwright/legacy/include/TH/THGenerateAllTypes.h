/* Includes TH_GENERIC_FILE for each of the seven element types. */
#ifndef TH_GENERIC_FILE
#error "THGenerateAllTypes.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#ifndef THGenerateManyTypes
#define THAllTypesLocal_
#define THGenerateManyTypes
#endif

#include "THGenerateFloatTypes.h"
#include "THGenerateIntTypes.h"

#ifdef THAllTypesLocal_
#undef THAllTypesLocal_
#undef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
