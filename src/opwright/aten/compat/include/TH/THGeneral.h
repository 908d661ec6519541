// What <TH/THGeneral.h> had.
#ifndef TH_GENERAL_INC
#define TH_GENERAL_INC

#include "../../shims/th_general.h"

#endif
