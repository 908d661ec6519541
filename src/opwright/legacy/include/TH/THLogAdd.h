#ifndef TH_LOG_ADD_INC
#define TH_LOG_ADD_INC

#include "THTensor.h"

#endif
