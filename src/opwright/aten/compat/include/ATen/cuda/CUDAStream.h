// What <ATen/cuda/CUDAStream.h> had.
#pragma once

#include <c10/cuda/CUDAStream.h>
