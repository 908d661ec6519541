#ifndef TH_TENSOR_RANDOM_INC
#define TH_TENSOR_RANDOM_INC

#include "THGeneral.h"
#include "THRandom.h"
#include "THTensor.h"

#include "generic/THTensorRandom.h"
#include "THGenerateAllTypes.h"

#endif
