#ifndef TH_ALLOCATOR_INC
#define TH_ALLOCATOR_INC

#include "THGeneral.h"

/* How a storage gets its memory and gets rid of it. */
typedef struct THAllocator {
  void *(*malloc)(void *context, ptrdiff_t bytes);
  void *(*realloc)(void *context, void *memory, ptrdiff_t bytes);
  void (*free)(void *context, void *memory);
} THAllocator;

/* THAlloc, THRealloc and THFree. */
TH_API THAllocator THDefaultAllocator;

#endif
