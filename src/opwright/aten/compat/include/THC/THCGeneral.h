// What <THC/THCGeneral.h> had.
#pragma once

#include "../../shims/thc_state.h"
#include "../../shims/thc_stream.h"
#include "../../shims/thc_check.h"
#include "../../shims/thc_memory.h"
