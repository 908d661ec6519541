// What <ATen/Allocator.h> had.
#pragma once

#include <c10/core/Allocator.h>
