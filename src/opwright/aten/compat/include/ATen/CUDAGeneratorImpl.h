// What <ATen/CUDAGeneratorImpl.h> had.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>
