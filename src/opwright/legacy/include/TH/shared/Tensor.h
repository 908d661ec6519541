/* Tensors, for CPU and GPU: shared/th.h and shared/thc.h say what the words with THX stand for. */
/* A way to look at a storage. No dimension: an empty tensor, of shape (0,) in Python; TH knows no scalars, and Python's
 * have one dimension of size 1 here. */
typedef struct THXTensor {
  int64_t *size;
  int64_t *stride; /* in elements */
  int nDimension;
  THXStorage *storage;
  ptrdiff_t storageOffset; /* in elements */
  int refcount;
  char flag;
} THXTensor;

/* Access. data() is the first element's place. */
THX_API THXStorage *THXTensor_(storage)(THX_STATE const THXTensor *self);
THX_API ptrdiff_t THXTensor_(storageOffset)(THX_STATE const THXTensor *self);
THX_API int THXTensor_(nDimension)(THX_STATE const THXTensor *self);
THX_API int64_t THXTensor_(size)(THX_STATE const THXTensor *self, int dim);
THX_API int64_t THXTensor_(stride)(THX_STATE const THXTensor *self, int dim);
THX_API struct THLongStorage *THXTensor_(newSizeOf)(THX_STATE THXTensor *self);
THX_API struct THLongStorage *THXTensor_(newStrideOf)(THX_STATE THXTensor *self);
THX_API real *THXTensor_(data)(THX_STATE const THXTensor *self);
THX_API void THXTensor_(setFlag)(THX_STATE THXTensor *self, const char flag);
THX_API void THXTensor_(clearFlag)(THX_STATE THXTensor *self, const char flag);
THX_API ptrdiff_t THXTensor_(nElement)(THX_STATE const THXTensor *self);
THX_API ptrdiff_t THXTensor_(numel)(THX_STATE const THXTensor *self);

/* Creation. What "new" returns belongs to the caller, who frees it or returns it to Python. Values are undefined. */
THX_API THXTensor *THXTensor_(new)(THX_ONLY_STATE);
THX_API THXTensor *THXTensor_(newWithTensor)(THX_STATE THXTensor *tensor);
THX_API THXTensor *THXTensor_(newWithStorage)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset,
                                              struct THLongStorage *size, struct THLongStorage *stride);
THX_API THXTensor *THXTensor_(newWithStorageNd)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset, int nDimension,
                                                int64_t *size, int64_t *stride);
THX_API THXTensor *THXTensor_(newWithStorage1d)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                                int64_t stride0);
THX_API THXTensor *THXTensor_(newWithStorage2d)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                                int64_t stride0, int64_t size1, int64_t stride1);
THX_API THXTensor *THXTensor_(newWithStorage3d)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                                int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                                int64_t stride2);
THX_API THXTensor *THXTensor_(newWithStorage4d)(THX_STATE THXStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                                int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                                int64_t stride2, int64_t size3, int64_t stride3);
THX_API THXTensor *THXTensor_(newWithSize)(THX_STATE struct THLongStorage *size, struct THLongStorage *stride);
THX_API THXTensor *THXTensor_(newWithSizeNd)(THX_STATE int nDimension, int64_t *size, int64_t *stride);
THX_API THXTensor *THXTensor_(newWithSize1d)(THX_STATE int64_t size0);
THX_API THXTensor *THXTensor_(newWithSize2d)(THX_STATE int64_t size0, int64_t size1);
THX_API THXTensor *THXTensor_(newWithSize3d)(THX_STATE int64_t size0, int64_t size1, int64_t size2);
THX_API THXTensor *THXTensor_(newWithSize4d)(THX_STATE int64_t size0, int64_t size1, int64_t size2, int64_t size3);
THX_API THXTensor *THXTensor_(newWithSize5d)(THX_STATE int64_t size0, int64_t size1, int64_t size2, int64_t size3,
                                             int64_t size4);
THX_API THXTensor *THXTensor_(newClone)(THX_STATE THXTensor *self);
THX_API THXTensor *THXTensor_(newContiguous)(THX_STATE THXTensor *self);
THX_API THXTensor *THXTensor_(newSelect)(THX_STATE THXTensor *tensor, int dimension, int64_t index);
THX_API THXTensor *THXTensor_(newNarrow)(THX_STATE THXTensor *tensor, int dimension, int64_t first, int64_t size);
THX_API THXTensor *THXTensor_(newTranspose)(THX_STATE THXTensor *tensor, int dimension1, int dimension2);
THX_API THXTensor *THXTensor_(newUnfold)(THX_STATE THXTensor *tensor, int dimension, int64_t size, int64_t step);
THX_API THXTensor *THXTensor_(newView)(THX_STATE THXTensor *tensor, struct THLongStorage *size);
THX_API THXTensor *THXTensor_(newExpand)(THX_STATE THXTensor *tensor, struct THLongStorage *size);
THX_API THXTensor *THXTensor_(newFoldBatchDim)(THX_STATE THXTensor *tensor);

/* Shapes. Memory grows as needed; a tensor that has the shape already stays as it is, strides included. A negative stride
 * asks for the contiguous one. */
THX_API void THXTensor_(resize)(THX_STATE THXTensor *self, struct THLongStorage *size, struct THLongStorage *stride);
THX_API void THXTensor_(resizeAs)(THX_STATE THXTensor *self, THXTensor *like);
THX_API void THXTensor_(resizeNd)(THX_STATE THXTensor *self, int nDimension, int64_t *size, int64_t *stride);
THX_API void THXTensor_(resize1d)(THX_STATE THXTensor *self, int64_t size0);
THX_API void THXTensor_(resize2d)(THX_STATE THXTensor *self, int64_t size0, int64_t size1);
THX_API void THXTensor_(resize3d)(THX_STATE THXTensor *self, int64_t size0, int64_t size1, int64_t size2);
THX_API void THXTensor_(resize4d)(THX_STATE THXTensor *self, int64_t size0, int64_t size1, int64_t size2,
                                  int64_t size3);
THX_API void THXTensor_(resize5d)(THX_STATE THXTensor *self, int64_t size0, int64_t size1, int64_t size2, int64_t size3,
                                  int64_t size4);

THX_API void THXTensor_(set)(THX_STATE THXTensor *self, THXTensor *from);
THX_API void THXTensor_(setStorage)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                    struct THLongStorage *size, struct THLongStorage *stride);
THX_API void THXTensor_(setStorageNd)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                      int nDimension, int64_t *size, int64_t *stride);
THX_API void THXTensor_(setStorage1d)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0);
THX_API void THXTensor_(setStorage2d)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1);
THX_API void THXTensor_(setStorage3d)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                      int64_t stride2);
THX_API void THXTensor_(setStorage4d)(THX_STATE THXTensor *self, THXStorage *storage, ptrdiff_t storageOffset,
                                      int64_t size0, int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                                      int64_t stride2, int64_t size3, int64_t stride3);

/* `self` becomes such a view of `from`; where that is null, of itself. */
THX_API void THXTensor_(narrow)(THX_STATE THXTensor *self, THXTensor *from, int dimension, int64_t first, int64_t size);
THX_API void THXTensor_(select)(THX_STATE THXTensor *self, THXTensor *from, int dimension, int64_t index);
THX_API void THXTensor_(transpose)(THX_STATE THXTensor *self, THXTensor *from, int dimension1, int dimension2);
THX_API void THXTensor_(unfold)(THX_STATE THXTensor *self, THXTensor *from, int dimension, int64_t size, int64_t step);
THX_API void THXTensor_(squeeze)(THX_STATE THXTensor *self, THXTensor *from);
THX_API void THXTensor_(squeeze1d)(THX_STATE THXTensor *self, THXTensor *from, int dimension);
THX_API void THXTensor_(unsqueeze1d)(THX_STATE THXTensor *self, THXTensor *from, int dimension);
THX_API void THXTensor_(expand)(THX_STATE THXTensor *self, THXTensor *from, struct THLongStorage *size);
THX_API void THXTensor_(expandNd)(THX_STATE THXTensor **results, THXTensor **tensors, int count);

THX_API int THXTensor_(isContiguous)(THX_STATE const THXTensor *self);
THX_API int THXTensor_(isSameSizeAs)(THX_STATE const THXTensor *self, const THXTensor *other);
THX_API int THXTensor_(isSetTo)(THX_STATE const THXTensor *self, const THXTensor *other);
THX_API int THXTensor_(isSize)(THX_STATE const THXTensor *self, const struct THLongStorage *size);
THX_API int THXTensor_(isTransposed)(THX_STATE const THXTensor *self);

THX_API void THXTensor_(retain)(THX_STATE THXTensor *self);
THX_API void THXTensor_(free)(THX_STATE THXTensor *self);
THX_API void THXTensor_(freeCopyTo)(THX_STATE THXTensor *self, THXTensor *to);

/* One element, checked. A GPU's is waited for. */
THX_API void THXTensor_(set0d)(THX_STATE THXTensor *self, real value);
THX_API void THXTensor_(set1d)(THX_STATE THXTensor *self, int64_t a, real value);
THX_API void THXTensor_(set2d)(THX_STATE THXTensor *self, int64_t a, int64_t b, real value);
THX_API void THXTensor_(set3d)(THX_STATE THXTensor *self, int64_t a, int64_t b, int64_t c, real value);
THX_API void THXTensor_(set4d)(THX_STATE THXTensor *self, int64_t a, int64_t b, int64_t c, int64_t d, real value);
THX_API real THXTensor_(get0d)(THX_STATE const THXTensor *self);
THX_API real THXTensor_(get1d)(THX_STATE const THXTensor *self, int64_t a);
THX_API real THXTensor_(get2d)(THX_STATE const THXTensor *self, int64_t a, int64_t b);
THX_API real THXTensor_(get3d)(THX_STATE const THXTensor *self, int64_t a, int64_t b, int64_t c);
THX_API real THXTensor_(get4d)(THX_STATE const THXTensor *self, int64_t a, int64_t b, int64_t c, int64_t d);

/* "torch.FloatTensor of size 2x3", "torch.cuda.FloatTensor of size 2x3" */
THX_API THDescBuff THXTensor_(desc)(THX_STATE const THXTensor *self);
