/* Thrust's policies, and thrust::cuda::par among them. */
#include_next <thrust/execution_policy.h>

#include "system/cuda/execution_policy.h"
