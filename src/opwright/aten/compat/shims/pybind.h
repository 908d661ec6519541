// PYBIND11_MODULE and tensors in it, which <torch/torch.h> once brought along.
#pragma once

#include <torch/types.h>

#include <torch/csrc/utils/pybind.h>
