#include "../../cuda_runtime.h"

#include "../../../cub/iterators.h"
