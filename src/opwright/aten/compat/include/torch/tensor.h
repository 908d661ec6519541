// What <torch/tensor.h> had.
#pragma once

#include <torch/types.h>
