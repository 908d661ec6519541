/* Includes TH_GENERIC_FILE for each of the five integer types. */
#ifndef TH_GENERIC_FILE
#error "THGenerateIntTypes.h includes the file that TH_GENERIC_FILE names: define it first"
#endif

#ifndef THGenerateManyTypes
#define THIntTypesLocal_
#define THGenerateManyTypes
#endif

#include "THGenerateByteType.h"
#include "THGenerateCharType.h"
#include "THGenerateShortType.h"
#include "THGenerateIntType.h"
#include "THGenerateLongType.h"

#ifdef THIntTypesLocal_
#undef THIntTypesLocal_
#undef THGenerateManyTypes
#undef TH_GENERIC_FILE
#endif
