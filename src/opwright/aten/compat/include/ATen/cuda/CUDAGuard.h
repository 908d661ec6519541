// What <ATen/cuda/CUDAGuard.h> had.
#pragma once

#include <c10/cuda/CUDAGuard.h>
