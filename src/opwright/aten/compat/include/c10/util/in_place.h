// What <c10/util/in_place.h> had.
#pragma once

#include "../../../shims/std_names.h"
