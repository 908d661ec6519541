// What <THC/THCNumerics.cuh> had.
#pragma once

#include <ATen/cuda/NumericLimits.cuh>
#include "../../shims/thc_numerics.h"
