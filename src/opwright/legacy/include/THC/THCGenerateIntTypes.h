/* Includes THC_GENERIC_FILE for the integer types. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateIntTypes.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#ifndef THCGenerateManyTypes
#define THCIntTypesLocal_
#define THCGenerateManyTypes
#endif

#include "THCGenerateByteType.h"
#include "THCGenerateCharType.h"
#include "THCGenerateShortType.h"
#include "THCGenerateIntType.h"
#include "THCGenerateLongType.h"

#ifdef THCIntTypesLocal_
#undef THCIntTypesLocal_
#undef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
