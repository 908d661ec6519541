#ifndef THC_STORAGE_INC
#define THC_STORAGE_INC

#include "../TH/THStorage.h"
#include "THCHalf.h"

#define THCStorage TH_CONCAT_3(TH, CReal, Storage)
#define THCStorage_(NAME) TH_CONCAT_4(TH, CReal, Storage_, NAME)

#include "generic/THCStorage.h"
#include "THCGenerateAllTypes.h"

#endif
