#include "../../cuda_runtime.h"

#include "../../../cub/move.h"
