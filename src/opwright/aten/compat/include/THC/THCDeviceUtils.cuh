// What <THC/THCDeviceUtils.cuh> had.
#ifndef THC_DEVICE_UTILS_INC
#define THC_DEVICE_UTILS_INC

#include <ATen/cuda/DeviceUtils.cuh>
#include "../../shims/thc_arithmetic.h"

#endif
