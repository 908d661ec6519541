/* Generic code in the manner of old extensions: one file, included once for each element type. C and C++. */
#include <TH/TH.h>

#ifdef __cplusplus
extern "C" {
#endif

#define apply_(NAME) TH_CONCAT_4(apply_, Real, _, NAME)

#include "generic/apply.c"
#include "THGenerateAllTypes.h"

#ifdef __cplusplus
}
#endif
