#ifndef THC_STREAM_INC
#define THC_STREAM_INC

#include "THCGeneral.h"

/* One of PyTorch's streams. PyTorch keeps the stream itself; this is a handle, to be freed. */
typedef struct THCStream {
  cudaStream_t stream;
  int device;
  int refcount;
} THCStream;

/* `flags` are CUDA's, and PyTorch's streams are all non-blocking. A priority below 0 is a high one. */
THC_API THCStream *THCStream_new(int flags);
THC_API THCStream *THCStream_newWithPriority(int flags, int priority);
THC_API THCStream *THCStream_defaultStream(int device);
THC_API void THCStream_retain(THCStream *self);
THC_API void THCStream_free(THCStream *self);

/* The current one of the current GPU; the caller frees it. */
THC_API THCStream *THCState_getStream(THCState *state);
THC_API void THCState_setStream(THCState *state, THCStream *stream);

#endif
