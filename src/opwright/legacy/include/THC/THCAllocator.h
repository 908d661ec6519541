#ifndef THC_ALLOCATOR_INC
#define THC_ALLOCATOR_INC

#include "THCGeneral.h"

/* Page-locked memory of the CPU, for TH's storages. */
THC_API THAllocator THCudaHostAllocator;

#endif
