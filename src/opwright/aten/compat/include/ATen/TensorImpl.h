// What <ATen/TensorImpl.h> had.
#pragma once

#include <c10/core/TensorImpl.h>
