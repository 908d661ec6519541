#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensor.h"
#else

#include "../shared/th.h"
#include "../shared/Tensor.h"

#endif
