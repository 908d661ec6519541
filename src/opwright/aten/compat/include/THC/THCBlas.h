// What <THC/THCBlas.h> had.
#pragma once

#include "../../shims/thc_state.h"
#include "../../shims/thc_blas.h"
