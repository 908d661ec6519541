#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensor.h"
#else

/* A way to look at a storage. No dimension: an empty tensor, of shape (0,) in Python; TH knows no scalars, and Python's
 * have one dimension of size 1 here. */
typedef struct THTensor {
  int64_t *size;
  int64_t *stride; /* in elements */
  int nDimension;
  THStorage *storage;
  ptrdiff_t storageOffset; /* in elements */
  int refcount;
  char flag;
} THTensor;

/* Access. data() is the first element's place. */
TH_API THStorage *THTensor_(storage)(const THTensor *self);
TH_API ptrdiff_t THTensor_(storageOffset)(const THTensor *self);
TH_API int THTensor_(nDimension)(const THTensor *self);
TH_API int64_t THTensor_(size)(const THTensor *self, int dim);
TH_API int64_t THTensor_(stride)(const THTensor *self, int dim);
TH_API struct THLongStorage *THTensor_(newSizeOf)(THTensor *self);
TH_API struct THLongStorage *THTensor_(newStrideOf)(THTensor *self);
TH_API real *THTensor_(data)(const THTensor *self);
TH_API void THTensor_(setFlag)(THTensor *self, const char flag);
TH_API void THTensor_(clearFlag)(THTensor *self, const char flag);
TH_API ptrdiff_t THTensor_(nElement)(const THTensor *self);
TH_API ptrdiff_t THTensor_(numel)(const THTensor *self);

/* Creation. What "new" returns belongs to the caller, who frees it or returns it to Python. Values are undefined. */
TH_API THTensor *THTensor_(new)(void);
TH_API THTensor *THTensor_(newWithTensor)(THTensor *tensor);
TH_API THTensor *THTensor_(newWithStorage)(THStorage *storage, ptrdiff_t storageOffset, struct THLongStorage *size,
                                           struct THLongStorage *stride);
TH_API THTensor *THTensor_(newWithStorageNd)(THStorage *storage, ptrdiff_t storageOffset, int nDimension, int64_t *size,
                                             int64_t *stride);
TH_API THTensor *THTensor_(newWithStorage1d)(THStorage *storage, ptrdiff_t storageOffset, int64_t size0, int64_t stride0);
TH_API THTensor *THTensor_(newWithStorage2d)(THStorage *storage, ptrdiff_t storageOffset, int64_t size0, int64_t stride0,
                                             int64_t size1, int64_t stride1);
TH_API THTensor *THTensor_(newWithStorage3d)(THStorage *storage, ptrdiff_t storageOffset, int64_t size0, int64_t stride0,
                                             int64_t size1, int64_t stride1, int64_t size2, int64_t stride2);
TH_API THTensor *THTensor_(newWithStorage4d)(THStorage *storage, ptrdiff_t storageOffset, int64_t size0, int64_t stride0,
                                             int64_t size1, int64_t stride1, int64_t size2, int64_t stride2, int64_t size3,
                                             int64_t stride3);
TH_API THTensor *THTensor_(newWithSize)(struct THLongStorage *size, struct THLongStorage *stride);
TH_API THTensor *THTensor_(newWithSizeNd)(int nDimension, int64_t *size, int64_t *stride);
TH_API THTensor *THTensor_(newWithSize1d)(int64_t size0);
TH_API THTensor *THTensor_(newWithSize2d)(int64_t size0, int64_t size1);
TH_API THTensor *THTensor_(newWithSize3d)(int64_t size0, int64_t size1, int64_t size2);
TH_API THTensor *THTensor_(newWithSize4d)(int64_t size0, int64_t size1, int64_t size2, int64_t size3);
TH_API THTensor *THTensor_(newWithSize5d)(int64_t size0, int64_t size1, int64_t size2, int64_t size3, int64_t size4);
TH_API THTensor *THTensor_(newClone)(THTensor *self);
TH_API THTensor *THTensor_(newContiguous)(THTensor *self);
TH_API THTensor *THTensor_(newSelect)(THTensor *tensor, int dimension, int64_t index);
TH_API THTensor *THTensor_(newNarrow)(THTensor *tensor, int dimension, int64_t first, int64_t size);
TH_API THTensor *THTensor_(newTranspose)(THTensor *tensor, int dimension1, int dimension2);
TH_API THTensor *THTensor_(newUnfold)(THTensor *tensor, int dimension, int64_t size, int64_t step);
TH_API THTensor *THTensor_(newView)(THTensor *tensor, struct THLongStorage *size);
TH_API THTensor *THTensor_(newExpand)(THTensor *tensor, struct THLongStorage *size);
TH_API THTensor *THTensor_(newFoldBatchDim)(THTensor *tensor);

/* Shapes. Memory grows as needed; a tensor that has the shape already stays as it is, strides included. A negative stride
 * asks for the contiguous one. */
TH_API void THTensor_(resize)(THTensor *self, struct THLongStorage *size, struct THLongStorage *stride);
TH_API void THTensor_(resizeAs)(THTensor *self, THTensor *like);
TH_API void THTensor_(resizeNd)(THTensor *self, int nDimension, int64_t *size, int64_t *stride);
TH_API void THTensor_(resize1d)(THTensor *self, int64_t size0);
TH_API void THTensor_(resize2d)(THTensor *self, int64_t size0, int64_t size1);
TH_API void THTensor_(resize3d)(THTensor *self, int64_t size0, int64_t size1, int64_t size2);
TH_API void THTensor_(resize4d)(THTensor *self, int64_t size0, int64_t size1, int64_t size2, int64_t size3);
TH_API void THTensor_(resize5d)(THTensor *self, int64_t size0, int64_t size1, int64_t size2, int64_t size3, int64_t size4);

TH_API void THTensor_(set)(THTensor *self, THTensor *from);
TH_API void THTensor_(setStorage)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, struct THLongStorage *size,
                                  struct THLongStorage *stride);
TH_API void THTensor_(setStorageNd)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, int nDimension,
                                    int64_t *size, int64_t *stride);
TH_API void THTensor_(setStorage1d)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                    int64_t stride0);
TH_API void THTensor_(setStorage2d)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                    int64_t stride0, int64_t size1, int64_t stride1);
TH_API void THTensor_(setStorage3d)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                    int64_t stride0, int64_t size1, int64_t stride1, int64_t size2, int64_t stride2);
TH_API void THTensor_(setStorage4d)(THTensor *self, THStorage *storage, ptrdiff_t storageOffset, int64_t size0,
                                    int64_t stride0, int64_t size1, int64_t stride1, int64_t size2, int64_t stride2,
                                    int64_t size3, int64_t stride3);

/* `self` becomes such a view of `from`; where that is null, of itself. */
TH_API void THTensor_(narrow)(THTensor *self, THTensor *from, int dimension, int64_t first, int64_t size);
TH_API void THTensor_(select)(THTensor *self, THTensor *from, int dimension, int64_t index);
TH_API void THTensor_(transpose)(THTensor *self, THTensor *from, int dimension1, int dimension2);
TH_API void THTensor_(unfold)(THTensor *self, THTensor *from, int dimension, int64_t size, int64_t step);
TH_API void THTensor_(squeeze)(THTensor *self, THTensor *from);
TH_API void THTensor_(squeeze1d)(THTensor *self, THTensor *from, int dimension);
TH_API void THTensor_(unsqueeze1d)(THTensor *self, THTensor *from, int dimension);
TH_API void THTensor_(expand)(THTensor *self, THTensor *from, struct THLongStorage *size);
TH_API void THTensor_(expandNd)(THTensor **results, THTensor **tensors, int count);

TH_API int THTensor_(isContiguous)(const THTensor *self);
TH_API int THTensor_(isSameSizeAs)(const THTensor *self, const THTensor *other);
TH_API int THTensor_(isSetTo)(const THTensor *self, const THTensor *other);
TH_API int THTensor_(isSize)(const THTensor *self, const struct THLongStorage *size);
TH_API int THTensor_(isTransposed)(const THTensor *self);

TH_API void THTensor_(retain)(THTensor *self);
TH_API void THTensor_(free)(THTensor *self);
TH_API void THTensor_(freeCopyTo)(THTensor *self, THTensor *to);

/* One element, checked. */
TH_API void THTensor_(set0d)(THTensor *self, real value);
TH_API void THTensor_(set1d)(THTensor *self, int64_t a, real value);
TH_API void THTensor_(set2d)(THTensor *self, int64_t a, int64_t b, real value);
TH_API void THTensor_(set3d)(THTensor *self, int64_t a, int64_t b, int64_t c, real value);
TH_API void THTensor_(set4d)(THTensor *self, int64_t a, int64_t b, int64_t c, int64_t d, real value);
TH_API real THTensor_(get0d)(const THTensor *self);
TH_API real THTensor_(get1d)(const THTensor *self, int64_t a);
TH_API real THTensor_(get2d)(const THTensor *self, int64_t a, int64_t b);
TH_API real THTensor_(get3d)(const THTensor *self, int64_t a, int64_t b, int64_t c);
TH_API real THTensor_(get4d)(const THTensor *self, int64_t a, int64_t b, int64_t c, int64_t d);

/* "torch.FloatTensor of size 2x3" */
TH_API THDescBuff THTensor_(desc)(const THTensor *self);

#endif
