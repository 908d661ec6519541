#ifndef THC_CACHING_HOST_ALLOCATOR_INC
#define THC_CACHING_HOST_ALLOCATOR_INC

#include "THCAllocator.h"

THC_API THAllocator THCCachingHostAllocator;
THC_API void THCCachingHostAllocator_emptyCache(void);

#endif
