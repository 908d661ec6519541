#ifndef THC_TENSOR_MATH_INC
#define THC_TENSOR_MATH_INC

#include "THCTensor.h"

#include "generic/THCTensorMath.h"
#include "THCGenerateAllTypes.h"

#endif
