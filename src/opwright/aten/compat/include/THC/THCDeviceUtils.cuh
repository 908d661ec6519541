// What <THC/THCDeviceUtils.cuh> had.
#pragma once

#include <ATen/cuda/DeviceUtils.cuh>
#include "../../shims/thc_arithmetic.h"
