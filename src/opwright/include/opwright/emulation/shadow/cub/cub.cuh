/* The primitives of cub that most kernels use, as the emulator has them. */
#include "../cuda_runtime.h"

#include "../../cub/device_groups.h"
#include "../../cub/device_sort.h"
#include "../../cub/iterators.h"
#include "../../cub/reduce.h"
#include "../../cub/scan.h"
#include "../../cub/sort.h"
