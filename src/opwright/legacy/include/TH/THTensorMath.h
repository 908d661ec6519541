#ifndef TH_TENSOR_MATH_INC
#define TH_TENSOR_MATH_INC

#include "THTensor.h"

#endif
