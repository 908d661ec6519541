// What <THC/THCNumerics.cuh> had.
#ifndef THC_NUMERICS_INC
#define THC_NUMERICS_INC

#include <ATen/cuda/NumericLimits.cuh>
#include "../../shims/thc_numerics.h"

#endif
