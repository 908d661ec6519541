// What <THC/THCThrustAllocator.cuh> had.
#pragma once

#include "../../shims/thc_thrust.h"
