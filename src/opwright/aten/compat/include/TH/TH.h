// TH, of which C++ used the checks, the allocator and the BLAS.
#ifndef TH_INC
#define TH_INC

#include "../../shims/th_general.h"
#include "../../shims/th_blas.h"

#endif
