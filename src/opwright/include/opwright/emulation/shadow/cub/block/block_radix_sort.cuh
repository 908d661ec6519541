#include "../../cuda_runtime.h"

#include "../../../cub/sort.h"
