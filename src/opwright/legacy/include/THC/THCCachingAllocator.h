#ifndef THC_CACHING_ALLOCATOR_INC
#define THC_CACHING_ALLOCATOR_INC

#include "THCGeneral.h"

/* PyTorch's caching allocator, which THCudaMalloc takes memory from. Gives back to CUDA what nobody uses. */
THC_API void THCCachingAllocator_emptyCache(void);
/* Of a GPU, in bytes: used by tensors, and taken from CUDA; now, and at most so far. */
THC_API uint64_t THCCachingAllocator_currentMemoryAllocated(int device);
THC_API uint64_t THCCachingAllocator_maxMemoryAllocated(int device);
THC_API uint64_t THCCachingAllocator_currentMemoryCached(int device);
THC_API uint64_t THCCachingAllocator_maxMemoryCached(int device);

#endif
