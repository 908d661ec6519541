#include "THCDeviceTensor.cuh"
