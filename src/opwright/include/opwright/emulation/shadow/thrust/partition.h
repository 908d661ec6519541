/* With the policies, as CUDA's own device system brings them here. */
#include_next <thrust/partition.h>

#include "execution_policy.h"
