// What <TH/THBlas.h> had.
#ifndef TH_BLAS_INC
#define TH_BLAS_INC

#include "../../shims/th_blas.h"

#endif
