// What <ATen/core/Error.h> had.
#pragma once

#include <c10/util/Exception.h>
