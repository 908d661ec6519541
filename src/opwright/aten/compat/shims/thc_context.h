// Properties and library handles of the current device. Needs the headers of cuBLAS and cuSPARSE.
#pragma once

#include "thc_cuda.h"
#include "thc_state.h"

#if OPWRIGHT_COMPAT_CUDA

#include <ATen/cuda/CUDAContext.h>

inline cudaDeviceProp *THCState_getCurrentDeviceProperties(THCState *) {
  return at::cuda::getCurrentDeviceProperties();
}
inline cublasHandle_t THCState_getCurrentBlasHandle(THCState *) { return at::cuda::getCurrentCUDABlasHandle(); }
inline cusparseHandle_t THCState_getCurrentSparseHandle(THCState *) { return at::cuda::getCurrentCUDASparseHandle(); }

#endif
