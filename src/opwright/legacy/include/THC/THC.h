/* TH for GPUs, as PyTorch 0.4 had it. */
#ifndef THC_INC
#define THC_INC

#include "../TH/TH.h"

#include "THCGeneral.h"

#include "THCAllocator.h"
#include "THCBlas.h"
#include "THCCachingAllocator.h"
#include "THCCachingHostAllocator.h"
#include "THCHalf.h"
#include "THCRandom.h"
#include "THCStorage.h"
#include "THCStream.h"
#include "THCTensor.h"

#include "THCStorageCopy.h"
#include "THCTensorCopy.h"
#include "THCTensorMath.h"
#include "THCTensorRandom.h"

#endif
