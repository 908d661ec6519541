// What <ATen/core/Macros.h> had.
#pragma once

#include <c10/macros/Macros.h>
#include "../../../shims/macros.h"
