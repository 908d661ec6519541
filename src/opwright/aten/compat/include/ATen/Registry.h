// What <ATen/Registry.h> had.
#pragma once

#include <c10/util/Registry.h>
