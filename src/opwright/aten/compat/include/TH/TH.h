// TH, of which C++ used the checks, the allocator and the BLAS.
#pragma once

#include "../../shims/th_general.h"
#include "../../shims/th_blas.h"
