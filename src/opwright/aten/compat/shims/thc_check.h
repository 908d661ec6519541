// THCudaCheck: an error of CUDA as an exception.
#pragma once

#include "thc_cuda.h"

#if OPWRIGHT_COMPAT_CUDA

#include <c10/cuda/CUDAException.h>

#define THCudaCheck(expression) C10_CUDA_CHECK(expression)
#define THCudaCheckWarn(expression) C10_CUDA_CHECK_WARN(expression)

#endif
