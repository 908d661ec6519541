// What <torch/csrc/jit/operator.h> had.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>
