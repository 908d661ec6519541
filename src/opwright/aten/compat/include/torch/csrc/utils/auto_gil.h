// What <torch/csrc/utils/auto_gil.h> had.
#pragma once

#include "../../../../shims/gil.h"
