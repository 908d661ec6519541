#ifndef TH_TENSOR_INC
#define TH_TENSOR_INC

#include "THSize.h"
#include "THStorage.h"

#define THTensor TH_CONCAT_3(TH, Real, Tensor)
#define THTensor_(NAME) TH_CONCAT_4(TH, Real, Tensor_, NAME)

#define TH_TENSOR_REFCOUNTED 1

#include "generic/THTensor.h"
#include "THGenerateAllTypes.h"

/* The element at these positions, unchecked and without a call. */
#define THTensor_fastAt_(self, position) ((self)->storage->data[(self)->storageOffset + (position)])
#define THTensor_fastGet1d(self, a) THTensor_fastAt_(self, (a) * (self)->stride[0])
#define THTensor_fastGet2d(self, a, b) THTensor_fastAt_(self, (a) * (self)->stride[0] + (b) * (self)->stride[1])
#define THTensor_fastGet3d(self, a, b, c) \
  THTensor_fastAt_(self, (a) * (self)->stride[0] + (b) * (self)->stride[1] + (c) * (self)->stride[2])
#define THTensor_fastGet4d(self, a, b, c, d)                                                               \
  THTensor_fastAt_(self, (a) * (self)->stride[0] + (b) * (self)->stride[1] + (c) * (self)->stride[2] +     \
                             (d) * (self)->stride[3])
#define THTensor_fastSet1d(self, a, value) (THTensor_fastGet1d(self, a) = (value))
#define THTensor_fastSet2d(self, a, b, value) (THTensor_fastGet2d(self, a, b) = (value))
#define THTensor_fastSet3d(self, a, b, c, value) (THTensor_fastGet3d(self, a, b, c) = (value))
#define THTensor_fastSet4d(self, a, b, c, d, value) (THTensor_fastGet4d(self, a, b, c, d) = (value))

#endif
