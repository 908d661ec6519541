// What <THC/THCThrustAllocator.cuh> had.
#ifndef THC_THRUST_ALLOCATOR_INC
#define THC_THRUST_ALLOCATOR_INC

#include "../../shims/thc_thrust.h"

#endif
