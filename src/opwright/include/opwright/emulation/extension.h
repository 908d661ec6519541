/* What nvcc puts in front of an extension's sources, and what makes refusals of these headers exceptions that PyTorch knows. */
#ifndef OPWRIGHT_EMULATION_EXTENSION_H
#define OPWRIGHT_EMULATION_EXTENSION_H

#define OPWRIGHT_EMULATION_EXTENSION

#include <stdexcept>

#include "standard.h"

#include <cuda_runtime.h>

#endif
