// What <torch/csrc/WindowsTorchApiMacro.h> had.
#pragma once

#include <torch/csrc/Export.h>
