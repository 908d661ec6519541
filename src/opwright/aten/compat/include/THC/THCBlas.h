// What <THC/THCBlas.h> had.
#ifndef THC_BLAS_INC
#define THC_BLAS_INC

#include "../../shims/thc_state.h"
#include "../../shims/thc_blas.h"

#endif
