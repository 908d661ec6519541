// THCThrustAllocator: Thrust's temporary memory from PyTorch's allocator.
#pragma once

#include "thc_cuda.h"
#include "thc_state.h"

#if OPWRIGHT_COMPAT_CUDA

#include <ATen/cuda/ThrustAllocator.h>

class THCThrustAllocator : public at::cuda::ThrustAllocator {
 public:
  explicit THCThrustAllocator(THCState *) {}
};

#endif
