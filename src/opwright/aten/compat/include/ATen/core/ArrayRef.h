// What <ATen/core/ArrayRef.h> had.
#pragma once

#include <c10/util/ArrayRef.h>
