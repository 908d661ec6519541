// THCudaMalloc, THCudaFree: PyTorch's caching allocator, on its current stream.
#pragma once

#include "thc_cuda.h"
#include "thc_state.h"

#if OPWRIGHT_COMPAT_CUDA

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstddef>

inline void *THCudaMalloc(THCState *, std::size_t bytes) { return c10::cuda::CUDACachingAllocator::raw_alloc(bytes); }
inline void THCudaFree(THCState *, void *memory) { c10::cuda::CUDACachingAllocator::raw_delete(memory); }

#endif
