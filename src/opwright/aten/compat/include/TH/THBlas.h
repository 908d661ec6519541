// What <TH/THBlas.h> had.
#pragma once

#include "../../shims/th_blas.h"
