#include "THCDeviceTensorUtils.cuh"
