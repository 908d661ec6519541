#ifndef TH_TENSOR_COPY_INC
#define TH_TENSOR_COPY_INC

#include "THTensor.h"

#endif
