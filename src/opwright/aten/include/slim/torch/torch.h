/* As torch/extension.h, which PyTorch's header of this name includes in an extension. */
#pragma once
#include <torch/extension.h>
