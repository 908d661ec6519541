#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCStorage.h"
#else

/* Memory of one element type, which any number of tensors look at. It is the memory of a PyTorch storage,
 * on the GPU `device`: C code can't read `data` itself. */
typedef struct THCStorage {
  real *data;
  ptrdiff_t size; /* in elements */
  int refcount;
  char flag;
  THAllocator *allocator;
  void *allocatorContext;
  struct THCStorage *view;
  int device;
} THCStorage;

THC_API real *THCStorage_(data)(THCState *state, const THCStorage *self);
THC_API ptrdiff_t THCStorage_(size)(THCState *state, const THCStorage *self);
THC_API int THCStorage_(getDevice)(THCState *state, const THCStorage *self);
THC_API size_t THCStorage_(elementSize)(THCState *state);

THC_API void THCStorage_(set)(THCState *state, THCStorage *self, ptrdiff_t position, real value);
THC_API real THCStorage_(get)(THCState *state, const THCStorage *self, ptrdiff_t position);

/* Each of these belongs to the caller, who frees it. */
THC_API THCStorage *THCStorage_(new)(THCState *state);
THC_API THCStorage *THCStorage_(newWithSize)(THCState *state, ptrdiff_t size);
THC_API THCStorage *THCStorage_(newWithSize1)(THCState *state, real a);
THC_API THCStorage *THCStorage_(newWithSize2)(THCState *state, real a, real b);
THC_API THCStorage *THCStorage_(newWithSize3)(THCState *state, real a, real b, real c);
THC_API THCStorage *THCStorage_(newWithSize4)(THCState *state, real a, real b, real c, real d);
THC_API THCStorage *THCStorage_(newWithMapping)(THCState *state, const char *filename, ptrdiff_t size, int flags);
/* Takes over `data`, which THCudaMalloc gave, unless TH_STORAGE_FREEMEM is cleared afterwards. */
THC_API THCStorage *THCStorage_(newWithData)(THCState *state, real *data, ptrdiff_t size);
THC_API THCStorage *THCStorage_(newWithAllocator)(THCState *state, ptrdiff_t size, THAllocator *allocator,
                                                  void *allocatorContext);
THC_API THCStorage *THCStorage_(newWithDataAndAllocator)(THCState *state, real *data, ptrdiff_t size,
                                                         THAllocator *allocator, void *allocatorContext);

THC_API void THCStorage_(setFlag)(THCState *state, THCStorage *self, const char flag);
THC_API void THCStorage_(clearFlag)(THCState *state, THCStorage *self, const char flag);
THC_API void THCStorage_(retain)(THCState *state, THCStorage *self);
THC_API void THCStorage_(swap)(THCState *state, THCStorage *one, THCStorage *other);
THC_API void THCStorage_(free)(THCState *state, THCStorage *self);
THC_API void THCStorage_(resize)(THCState *state, THCStorage *self, ptrdiff_t size);
THC_API void THCStorage_(fill)(THCState *state, THCStorage *self, real value);

#endif
