// What <ATen/Type.h> had.
#pragma once

#include "../../shims/type.h"
