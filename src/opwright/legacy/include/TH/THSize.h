#ifndef TH_SIZE_INC
#define TH_SIZE_INC

#include "THGeneral.h"

TH_API int THSize_isSameSizeAs(const int64_t *sizeA, int64_t dimsA, const int64_t *sizeB, int64_t dimsB);
TH_API ptrdiff_t THSize_nElement(int64_t dims, int64_t *size);

#endif
