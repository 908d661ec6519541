#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorRandom.h"
#else

#include "../../TH/shared/thc.h"
#include "../../TH/shared/TensorRandom.h"

#endif
