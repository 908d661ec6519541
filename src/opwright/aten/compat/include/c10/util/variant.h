// What <c10/util/variant.h> had.
#pragma once

#include "../../../shims/std_names.h"
