/* Stands in for PyTorch's header of this name where a source only computes with tensors and binds plain functions. */
#pragma once
#include <torch/types.h>

#include <ATen/core/grad_mode.h>

#include "../pybind11.h"

namespace torch {
using NoGradGuard = at::NoGradGuard;
using AutoGradMode = at::AutoGradMode;
}  // namespace torch
