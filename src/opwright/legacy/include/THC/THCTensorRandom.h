#ifndef THC_TENSOR_RANDOM_INC
#define THC_TENSOR_RANDOM_INC

#include "THCRandom.h"
#include "THCTensor.h"

#include "generic/THCTensorRandom.h"
#include "THCGenerateAllTypes.h"

#endif
