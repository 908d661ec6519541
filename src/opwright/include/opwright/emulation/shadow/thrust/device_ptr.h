/* With the algorithms that CUDA's own device system brings here (CCCL 3.0). */
#include_next <thrust/device_ptr.h>

#include <thrust/distance.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/generate.h>
#include <thrust/swap.h>
#include <thrust/transform.h>
#include <thrust/uninitialized_fill.h>
