#ifndef THC_DEVICE_TENSOR_UTILS_INC
#define THC_DEVICE_TENSOR_UTILS_INC

#include <limits.h>

#include "THCDeviceTensor.cuh"
#include "THCTensor.h"

/* A tensor of THC's as kernels take it: toDeviceTensor<float, 4>(state, input). toDeviceTensorCast also takes one of other
 * dimensions: missing ones are added in front, where there are too many the first ones become one. */

#define THC_GENERIC_FILE "generic/THCDeviceTensorUtils.cu"
#include "THCGenerateAllTypes.h"

#endif
