/* The tensor library of PyTorch 0.4, for C: tensors, storages, errors, and what can be done with them. */
#ifndef TH_INC
#define TH_INC

#include "THGeneral.h"

#include "THAllocator.h"
#include "THSize.h"
#include "THStorage.h"
#include "THTensor.h"

#include "THAtomic.h"
#include "THBlas.h"
#include "THLogAdd.h"
#include "THRandom.h"

#include "THTensorApply.h"
#include "THTensorCopy.h"
#include "THTensorDimApply.h"
#include "THTensorMath.h"
#include "THTensorRandom.h"

#endif
