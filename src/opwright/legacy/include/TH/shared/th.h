/* What the headers of this folder are written in stands for TH. Included anew for each element type. */
#include "undefine.h"
#define THX_API TH_API
#define THX_STATE
#define THX_ONLY_STATE void
#define THX_GENERATOR , THGenerator *generator
#define THX_DEVICE
#define THXTensor THTensor
#define THXTensor_ THTensor_
#define THXStorage THStorage
#define THXStorage_ THStorage_
#define THXByteTensor THByteTensor
#define THXLongTensor THLongTensor
#define THXFloatTensor THFloatTensor
#define THXDoubleTensor THDoubleTensor
#if defined(TH_REAL_IS_FLOAT) || defined(TH_REAL_IS_DOUBLE)
#define THX_IS_FLOATING
#endif
#ifdef TH_REAL_IS_BYTE
#define THX_IS_BYTE
#endif
