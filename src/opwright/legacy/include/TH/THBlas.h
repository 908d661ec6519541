#ifndef TH_BLAS_INC
#define TH_BLAS_INC

#include "THTensor.h"

#endif
