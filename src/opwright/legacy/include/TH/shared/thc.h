/* What the headers of this folder are written in stands for THC. Included anew for each element type. */
#include "undefine.h"
#define THX_API THC_API
#define THX_STATE THCState *state,
#define THX_ONLY_STATE THCState *state
#define THX_GENERATOR
#define THX_DEVICE int device;
#define THXTensor THCTensor
#define THXTensor_ THCTensor_
#define THXStorage THCStorage
#define THXStorage_ THCStorage_
#define THXByteTensor THCudaByteTensor
#define THXLongTensor THCudaLongTensor
#define THXFloatTensor THCudaTensor
#define THXDoubleTensor THCudaDoubleTensor
#if defined(THC_REAL_IS_FLOAT) || defined(THC_REAL_IS_DOUBLE) || defined(THC_REAL_IS_HALF)
#define THX_IS_FLOATING
#endif
#ifdef THC_REAL_IS_BYTE
#define THX_IS_BYTE
#endif
