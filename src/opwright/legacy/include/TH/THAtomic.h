#ifndef TH_ATOMIC_INC
#define TH_ATOMIC_INC

#include "THTensor.h"

#endif
