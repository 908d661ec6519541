#ifndef TH_TENSOR_RANDOM_INC
#define TH_TENSOR_RANDOM_INC

#include "THTensor.h"

#endif
