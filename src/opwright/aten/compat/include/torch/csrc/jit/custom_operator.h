// What <torch/csrc/jit/custom_operator.h> had.
#pragma once

#include <torch/csrc/jit/runtime/custom_operator.h>
