#include "../../cuda_runtime.h"

#include "../../../cub/scan.h"
