#include "../../cuda_runtime.h"

#include "../../../cub/reduce.h"
