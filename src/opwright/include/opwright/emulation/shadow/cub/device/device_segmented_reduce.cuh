#include "../../cuda_runtime.h"

#include "../../../cub/device_groups.h"
