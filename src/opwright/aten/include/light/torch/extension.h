/* Stands in for PyTorch's header of this name where a source needs no more than this (opwright/aten/headers.py).
 *
 * Left out are torch::nn, optim, data, jit and what saves and loads them: most of what the whole header costs.
 */
#pragma once
#include <torch/autograd.h>
#include <torch/enum.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
