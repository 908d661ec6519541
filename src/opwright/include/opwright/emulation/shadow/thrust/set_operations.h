/* With the policies and algorithms that CUDA's own device system brings here (CCCL 3.0). */
#include_next <thrust/set_operations.h>

#include <thrust/distance.h>
#include <thrust/extrema.h>
#include <thrust/transform_reduce.h>

#include "execution_policy.h"
