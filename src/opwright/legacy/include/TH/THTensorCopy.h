#ifndef TH_TENSOR_COPY_INC
#define TH_TENSOR_COPY_INC

#include "THGeneral.h"
#include "THTensor.h"

#include "generic/THTensorCopy.h"
#include "THGenerateAllTypes.h"

#endif
