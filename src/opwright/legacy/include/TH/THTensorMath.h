#ifndef TH_TENSOR_MATH_INC
#define TH_TENSOR_MATH_INC

#include "THGeneral.h"
#include "THRandom.h"
#include "THTensor.h"

#include "generic/THTensorMath.h"
#include "THGenerateAllTypes.h"

#endif
