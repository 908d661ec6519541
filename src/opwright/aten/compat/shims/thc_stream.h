// The current stream of PyTorch, as THC called it.
#pragma once

#include "thc_cuda.h"
#include "thc_state.h"

#if OPWRIGHT_COMPAT_CUDA

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

inline cudaStream_t THCState_getCurrentStream(THCState *) { return c10::cuda::getCurrentCUDAStream().stream(); }
inline cudaStream_t THCState_getCurrentStreamOnDevice(THCState *, int device) {
  return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}
inline int THCState_getNumDevices(THCState *) { return c10::cuda::device_count(); }

#endif
