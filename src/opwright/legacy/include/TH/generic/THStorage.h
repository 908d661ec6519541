#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THStorage.h"
#else

/* Memory of one element type, which any number of tensors look at. It is the memory of a PyTorch storage. */
typedef struct THStorage {
  real *data;
  ptrdiff_t size; /* in elements */
  int refcount;
  char flag;
  THAllocator *allocator;
  void *allocatorContext;
  struct THStorage *view;
} THStorage;

TH_API real *THStorage_(data)(const THStorage *self);
TH_API ptrdiff_t THStorage_(size)(const THStorage *self);
TH_API size_t THStorage_(elementSize)(void);

TH_API void THStorage_(set)(THStorage *self, ptrdiff_t position, real value);
TH_API real THStorage_(get)(const THStorage *self, ptrdiff_t position);

/* Each of these belongs to the caller, who frees it. */
TH_API THStorage *THStorage_(new)(void);
TH_API THStorage *THStorage_(newWithSize)(ptrdiff_t size);
TH_API THStorage *THStorage_(newWithSize1)(real a);
TH_API THStorage *THStorage_(newWithSize2)(real a, real b);
TH_API THStorage *THStorage_(newWithSize3)(real a, real b, real c);
TH_API THStorage *THStorage_(newWithSize4)(real a, real b, real c, real d);
TH_API THStorage *THStorage_(newWithMapping)(const char *filename, ptrdiff_t size, int flags);
/* Takes over `data`, unless TH_STORAGE_FREEMEM is cleared afterwards. */
TH_API THStorage *THStorage_(newWithData)(real *data, ptrdiff_t size);
TH_API THStorage *THStorage_(newWithAllocator)(ptrdiff_t size, THAllocator *allocator, void *allocatorContext);
TH_API THStorage *THStorage_(newWithDataAndAllocator)(real *data, ptrdiff_t size, THAllocator *allocator,
                                                      void *allocatorContext);

TH_API void THStorage_(setFlag)(THStorage *self, const char flag);
TH_API void THStorage_(clearFlag)(THStorage *self, const char flag);
TH_API void THStorage_(retain)(THStorage *self);
TH_API void THStorage_(swap)(THStorage *one, THStorage *other);
TH_API void THStorage_(free)(THStorage *self);
TH_API void THStorage_(resize)(THStorage *self, ptrdiff_t size);
TH_API void THStorage_(fill)(THStorage *self, real value);

#endif
