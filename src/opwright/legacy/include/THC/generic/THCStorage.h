#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCStorage.h"
#else

#include "../../TH/shared/thc.h"
#include "../../TH/shared/Storage.h"

THC_API int THCStorage_(getDevice)(THCState *state, const THCStorage *self);

#endif
