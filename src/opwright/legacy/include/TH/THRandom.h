#ifndef TH_RANDOM_INC
#define TH_RANDOM_INC

#include "THTensor.h"

#endif
