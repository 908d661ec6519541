#include "../../cuda_runtime.h"

#include "../../../cub/device.h"
