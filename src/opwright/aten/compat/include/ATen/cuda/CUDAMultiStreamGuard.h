// What <ATen/cuda/CUDAMultiStreamGuard.h> had.
#pragma once

#include <c10/cuda/CUDAGuard.h>
