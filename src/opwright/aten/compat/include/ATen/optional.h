// What <ATen/optional.h> had.
#pragma once

#include <c10/util/Optional.h>
