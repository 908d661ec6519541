// What <THC/THCScanUtils.cuh> had.
#ifndef THC_SCAN_UTILS_INC
#define THC_SCAN_UTILS_INC

#include <ATen/cuda/ScanUtils.cuh>

#endif
