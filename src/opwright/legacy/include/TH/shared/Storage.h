/* Storages, for CPU and GPU: shared/th.h and shared/thc.h say what the words with THX stand for. */
/* Memory of one element type, which any number of tensors look at. It is the memory of a PyTorch storage.
 * On a GPU, C code can't read `data` itself. */
typedef struct THXStorage {
  real *data;
  ptrdiff_t size; /* in elements */
  int refcount;
  char flag;
  THAllocator *allocator;
  void *allocatorContext;
  struct THXStorage *view;
  THX_DEVICE
} THXStorage;

THX_API real *THXStorage_(data)(THX_STATE const THXStorage *self);
THX_API ptrdiff_t THXStorage_(size)(THX_STATE const THXStorage *self);
THX_API size_t THXStorage_(elementSize)(THX_ONLY_STATE);

THX_API void THXStorage_(set)(THX_STATE THXStorage *self, ptrdiff_t position, real value);
THX_API real THXStorage_(get)(THX_STATE const THXStorage *self, ptrdiff_t position);

/* Each of these belongs to the caller, who frees it. */
THX_API THXStorage *THXStorage_(new)(THX_ONLY_STATE);
THX_API THXStorage *THXStorage_(newWithSize)(THX_STATE ptrdiff_t size);
THX_API THXStorage *THXStorage_(newWithSize1)(THX_STATE real a);
THX_API THXStorage *THXStorage_(newWithSize2)(THX_STATE real a, real b);
THX_API THXStorage *THXStorage_(newWithSize3)(THX_STATE real a, real b, real c);
THX_API THXStorage *THXStorage_(newWithSize4)(THX_STATE real a, real b, real c, real d);
THX_API THXStorage *THXStorage_(newWithMapping)(THX_STATE const char *filename, ptrdiff_t size, int flags);
/* Takes over `data` (a GPU's is from THCudaMalloc), unless TH_STORAGE_FREEMEM is cleared afterwards. */
THX_API THXStorage *THXStorage_(newWithData)(THX_STATE real *data, ptrdiff_t size);
THX_API THXStorage *THXStorage_(newWithAllocator)(THX_STATE ptrdiff_t size, THAllocator *allocator,
                                                  void *allocatorContext);
THX_API THXStorage *THXStorage_(newWithDataAndAllocator)(THX_STATE real *data, ptrdiff_t size, THAllocator *allocator,
                                                         void *allocatorContext);

THX_API void THXStorage_(setFlag)(THX_STATE THXStorage *self, const char flag);
THX_API void THXStorage_(clearFlag)(THX_STATE THXStorage *self, const char flag);
THX_API void THXStorage_(retain)(THX_STATE THXStorage *self);
THX_API void THXStorage_(swap)(THX_STATE THXStorage *one, THXStorage *other);
THX_API void THXStorage_(free)(THX_STATE THXStorage *self);
THX_API void THXStorage_(resize)(THX_STATE THXStorage *self, ptrdiff_t size);
THX_API void THXStorage_(fill)(THX_STATE THXStorage *self, real value);
