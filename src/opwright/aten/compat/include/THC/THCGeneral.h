// What <THC/THCGeneral.h> had.
#ifndef THC_GENERAL_INC
#define THC_GENERAL_INC

#include "../../shims/thc_state.h"
#include "../../shims/thc_stream.h"
#include "../../shims/thc_check.h"
#include "../../shims/thc_memory.h"

#endif
