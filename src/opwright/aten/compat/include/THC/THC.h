// THC, of which C++ and CUDA used the state, streams, checks and memory.
#ifndef THC_INC
#define THC_INC

#include "../../shims/thc_state.h"
#include "../../shims/thc_stream.h"
#include "../../shims/thc_check.h"
#include "../../shims/thc_memory.h"
#include "../../shims/thc_arithmetic.h"

#endif
