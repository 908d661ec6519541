#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensor.h"
#else

/* A way to look at a storage. No dimension: an empty tensor, of shape (0,) in Python; TH knows no scalars, and Python's
 * have one dimension of size 1 here. */
typedef struct THCTensor {
  int64_t *size;
  int64_t *stride; /* in elements */
  int nDimension;
  THCStorage *storage;
  ptrdiff_t storageOffset; /* in elements */
  int refcount;
  char flag;
} THCTensor;

/* Access. data() is the first element's place. */
THC_API THCStorage *THCTensor_(storage)(THCState *state, const THCTensor *self);
THC_API ptrdiff_t THCTensor_(storageOffset)(THCState *state, const THCTensor *self);
THC_API int THCTensor_(nDimension)(THCState *state, const THCTensor *self);
THC_API int64_t THCTensor_(size)(THCState *state, const THCTensor *self, int dim);
THC_API int64_t THCTensor_(stride)(THCState *state, const THCTensor *self, int dim);
THC_API struct THLongStorage *THCTensor_(newSizeOf)(THCState *state, THCTensor *self);
THC_API struct THLongStorage *THCTensor_(newStrideOf)(THCState *state, THCTensor *self);
THC_API real *THCTensor_(data)(THCState *state, const THCTensor *self);
THC_API void THCTensor_(setFlag)(THCState *state, THCTensor *self, const char flag);
THC_API void THCTensor_(clearFlag)(THCState *state, THCTensor *self, const char flag);
THC_API ptrdiff_t THCTensor_(nElement)(THCState *state, const THCTensor *self);
THC_API ptrdiff_t THCTensor_(numel)(THCState *state, const THCTensor *self);

/* Creation. What "new" returns belongs to the caller, who frees it or returns it to Python. Values are undefined. */
THC_API THCTensor *THCTensor_(new)(THCState *state);
THC_API THCTensor *THCTensor_(newWithTensor)(THCState *state, THCTensor *tensor);
THC_API THCTensor *THCTensor_(newWithStorage)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                              struct THLongStorage *size, struct THLongStorage *stride);
THC_API THCTensor *THCTensor_(newWithStorageNd)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                                int nDimension, int64_t *size, int64_t *stride);
THC_API THCTensor *THCTensor_(newWithStorage1d)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                                int64_t size0, int64_t stride0);
THC_API THCTensor *THCTensor_(newWithStorage2d)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                                int64_t size0, int64_t stride0, int64_t size1, int64_t stride1);
THC_API THCTensor *THCTensor_(newWithStorage3d)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                                int64_t size0, int64_t stride0, int64_t size1, int64_t stride1,
                                                int64_t size2, int64_t stride2);
THC_API THCTensor *THCTensor_(newWithStorage4d)(THCState *state, THCStorage *storage, ptrdiff_t storageOffset,
                                                int64_t size0, int64_t stride0, int64_t size1, int64_t stride1,
                                                int64_t size2, int64_t stride2, int64_t size3, int64_t stride3);
THC_API THCTensor *THCTensor_(newWithSize)(THCState *state, struct THLongStorage *size, struct THLongStorage *stride);
THC_API THCTensor *THCTensor_(newWithSizeNd)(THCState *state, int nDimension, int64_t *size, int64_t *stride);
THC_API THCTensor *THCTensor_(newWithSize1d)(THCState *state, int64_t size0);
THC_API THCTensor *THCTensor_(newWithSize2d)(THCState *state, int64_t size0, int64_t size1);
THC_API THCTensor *THCTensor_(newWithSize3d)(THCState *state, int64_t size0, int64_t size1, int64_t size2);
THC_API THCTensor *THCTensor_(newWithSize4d)(THCState *state, int64_t size0, int64_t size1, int64_t size2,
                                             int64_t size3);
THC_API THCTensor *THCTensor_(newWithSize5d)(THCState *state, int64_t size0, int64_t size1, int64_t size2,
                                             int64_t size3, int64_t size4);
THC_API THCTensor *THCTensor_(newClone)(THCState *state, THCTensor *self);
THC_API THCTensor *THCTensor_(newContiguous)(THCState *state, THCTensor *self);
THC_API THCTensor *THCTensor_(newSelect)(THCState *state, THCTensor *tensor, int dimension, int64_t index);
THC_API THCTensor *THCTensor_(newNarrow)(THCState *state, THCTensor *tensor, int dimension, int64_t first,
                                         int64_t size);
THC_API THCTensor *THCTensor_(newTranspose)(THCState *state, THCTensor *tensor, int dimension1, int dimension2);
THC_API THCTensor *THCTensor_(newUnfold)(THCState *state, THCTensor *tensor, int dimension, int64_t size, int64_t step);
THC_API THCTensor *THCTensor_(newView)(THCState *state, THCTensor *tensor, struct THLongStorage *size);
THC_API THCTensor *THCTensor_(newExpand)(THCState *state, THCTensor *tensor, struct THLongStorage *size);
THC_API THCTensor *THCTensor_(newFoldBatchDim)(THCState *state, THCTensor *tensor);

/* Shapes. Memory grows as needed; a tensor that has the shape already stays as it is, strides included. A negative stride
 * asks for the contiguous one. */
THC_API void THCTensor_(resize)(THCState *state, THCTensor *self, struct THLongStorage *size,
                                struct THLongStorage *stride);
THC_API void THCTensor_(resizeAs)(THCState *state, THCTensor *self, THCTensor *like);
THC_API void THCTensor_(resizeNd)(THCState *state, THCTensor *self, int nDimension, int64_t *size, int64_t *stride);
THC_API void THCTensor_(resize1d)(THCState *state, THCTensor *self, int64_t size0);
THC_API void THCTensor_(resize2d)(THCState *state, THCTensor *self, int64_t size0, int64_t size1);
THC_API void THCTensor_(resize3d)(THCState *state, THCTensor *self, int64_t size0, int64_t size1, int64_t size2);
THC_API void THCTensor_(resize4d)(THCState *state, THCTensor *self, int64_t size0, int64_t size1, int64_t size2,
                                  int64_t size3);
THC_API void THCTensor_(resize5d)(THCState *state, THCTensor *self, int64_t size0, int64_t size1, int64_t size2,
                                  int64_t size3, int64_t size4);

THC_API void THCTensor_(set)(THCState *state, THCTensor *self, THCTensor *from);
THC_API void THCTensor_(setStorage)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                    struct THLongStorage *size, struct THLongStorage *stride);
THC_API void THCTensor_(setStorageNd)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                      int nDimension, int64_t *size, int64_t *stride);
THC_API void THCTensor_(setStorage1d)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0);
THC_API void THCTensor_(setStorage2d)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1);
THC_API void THCTensor_(setStorage3d)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                      int64_t stride2);
THC_API void THCTensor_(setStorage4d)(THCState *state, THCTensor *self, THCStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                      int64_t stride2, int64_t size3, int64_t stride3);

/* `self` becomes such a view of `from`; where that is null, of itself. */
THC_API void THCTensor_(narrow)(THCState *state, THCTensor *self, THCTensor *from, int dimension, int64_t first,
                                int64_t size);
THC_API void THCTensor_(select)(THCState *state, THCTensor *self, THCTensor *from, int dimension, int64_t index);
THC_API void THCTensor_(transpose)(THCState *state, THCTensor *self, THCTensor *from, int dimension1, int dimension2);
THC_API void THCTensor_(unfold)(THCState *state, THCTensor *self, THCTensor *from, int dimension, int64_t size,
                                int64_t step);
THC_API void THCTensor_(squeeze)(THCState *state, THCTensor *self, THCTensor *from);
THC_API void THCTensor_(squeeze1d)(THCState *state, THCTensor *self, THCTensor *from, int dimension);
THC_API void THCTensor_(unsqueeze1d)(THCState *state, THCTensor *self, THCTensor *from, int dimension);
THC_API void THCTensor_(expand)(THCState *state, THCTensor *self, THCTensor *from, struct THLongStorage *size);
THC_API void THCTensor_(expandNd)(THCState *state, THCTensor **results, THCTensor **tensors, int count);

THC_API int THCTensor_(isContiguous)(THCState *state, const THCTensor *self);
THC_API int THCTensor_(isSameSizeAs)(THCState *state, const THCTensor *self, const THCTensor *other);
THC_API int THCTensor_(isSetTo)(THCState *state, const THCTensor *self, const THCTensor *other);
THC_API int THCTensor_(isSize)(THCState *state, const THCTensor *self, const struct THLongStorage *size);
THC_API int THCTensor_(isTransposed)(THCState *state, const THCTensor *self);

THC_API void THCTensor_(retain)(THCState *state, THCTensor *self);
THC_API void THCTensor_(free)(THCState *state, THCTensor *self);
THC_API void THCTensor_(freeCopyTo)(THCState *state, THCTensor *self, THCTensor *to);

/* One element, checked. Each waits for the GPU. */
THC_API void THCTensor_(set0d)(THCState *state, THCTensor *self, real value);
THC_API void THCTensor_(set1d)(THCState *state, THCTensor *self, int64_t a, real value);
THC_API void THCTensor_(set2d)(THCState *state, THCTensor *self, int64_t a, int64_t b, real value);
THC_API void THCTensor_(set3d)(THCState *state, THCTensor *self, int64_t a, int64_t b, int64_t c, real value);
THC_API void THCTensor_(set4d)(THCState *state, THCTensor *self, int64_t a, int64_t b, int64_t c, int64_t d,
                               real value);
THC_API real THCTensor_(get0d)(THCState *state, const THCTensor *self);
THC_API real THCTensor_(get1d)(THCState *state, const THCTensor *self, int64_t a);
THC_API real THCTensor_(get2d)(THCState *state, const THCTensor *self, int64_t a, int64_t b);
THC_API real THCTensor_(get3d)(THCState *state, const THCTensor *self, int64_t a, int64_t b, int64_t c);
THC_API real THCTensor_(get4d)(THCState *state, const THCTensor *self, int64_t a, int64_t b, int64_t c, int64_t d);

/* "torch.cuda.FloatTensor of size 2x3", and "[2 x 3]" */
THC_API THDescBuff THCTensor_(desc)(THCState *state, const THCTensor *self);
THC_API THDescBuff THCTensor_(sizeDesc)(THCState *state, const THCTensor *self);

/* The GPU's number; and whether all of `count` tensors are on the current one. Null pointers don't count against it. */
THC_API int THCTensor_(getDevice)(THCState *state, const THCTensor *self);
THC_API int THCTensor_(checkGPU)(THCState *state, unsigned int count, ...);

#endif
